// Line charts: training curves, risk against coverage.
function lineChart(spec) {
  const frame = { left: 46, right: 372, top: 10, bottom: 200 };
  const xs = spec.curves.flatMap((curve) => curve.steps);
  const ys = spec.curves.flatMap((curve) => curve.values);
  const low = Math.min(0, ...ys);
  const high = Math.max(...ys, low + 1e-9);
  const yTicks = ticks(low, high, 4);
  const top = Math.max(high, spec.percent ? Math.min(1, yTicks.at(-1)) : yTicks.at(-1));
  const x = scale(Math.min(...xs), Math.max(...xs), frame.left, frame.right);
  const y = scale(low, top, frame.bottom, frame.top);
  const digits = spec.percent && yTicks[1] - yTicks[0] < 0.0099 ? 1 : 0;
  const text = spec.percent ? (v) => percent(v, digits) : (v) => String(Number(v.toPrecision(3)));
  const names = spec.curves.map((curve) => curve.name).join(", ");
  const chart = svg("svg", { viewBox: "0 0 384 238", role: "img", tabindex: 0, "aria-label": `${spec.title}: ${names}. Arrow keys walk along the lines.` });
  axes(chart, frame, x, y, {
    xTicks: ticks(Math.min(...xs), Math.max(...xs), 4), yTicks, xText: spec.xText || thousands, yText: text, xLabel: spec.xLabel || "step",
  });
  spec.curves.forEach((curve, i) => {
    svg("polyline", {
      class: "line", stroke: `var(--series-${(i % 6) + 1})`, "stroke-dasharray": i >= 6 ? "5 3" : "none",
      points: curve.steps.map((step, k) => `${x(step)},${y(curve.values[k])}`).join(" "),
    }, chart);
  });
  const cursor = svg("line", { class: "cursor-line", y1: frame.top, y2: frame.bottom, visibility: "hidden" }, chart);
  const values = spec.curves.map(() => element("span"));
  const legend = element("ul", { class: "legend" }, ...spec.curves.map((curve, i) =>
    element("li", {}, element("i", { style: `background: var(--series-${(i % 6) + 1})` }), curve.name, values[i])));
  const where = element("span", { class: "soft" });
  const steps = [...new Set(xs)].sort((a, b) => a - b);
  movable(chart, steps.length, (px) => closest(steps, x, px), (at) => {
    cursor.setAttribute("visibility", at === null ? "hidden" : "visible");
    where.textContent = at === null ? spec.note : `${spec.xLabel || "step"} ${(spec.xText || thousands)(steps[at])}`;
    spec.curves.forEach((curve, i) => {
      const k = at === null ? -1 : closest(curve.steps, x, x(steps[at]));
      values[i].textContent = k < 0 ? "" : spec.percent ? percent(curve.values[k], 2) : curve.values[k].toPrecision(4);
    });
    if (at === null) return;
    cursor.setAttribute("x1", x(steps[at]));
    cursor.setAttribute("x2", x(steps[at]));
  });
  where.textContent = spec.note;
  return element("figure", {}, element("figcaption", {}, spec.title, where), chart, legend);
}

const closest = (steps, x, px) =>
  steps.reduce((best, step, i) => (Math.abs(x(step) - px) < Math.abs(x(steps[best]) - px) ? i : best), 0);

function riskChart(figures) {
  return lineChart({
    title: "Risk and coverage", note: "kept, most confident first", percent: true, xLabel: "share kept", xText: (v) => percent(v, 0),
    curves: figures.map((figure) => ({ name: figure.caption, steps: figure.risk.coverage, values: figure.risk.risk })),
  });
}

function riskTable(figures) {
  const at = (figure, share) => figure.risk.risk[closest(figure.risk.coverage, (v) => v, share)];
  const kept = [1, 0.95, 0.9, 0.8, 0.5];
  return table("Error among those kept", ["kept", ...figures.map((figure) => figure.caption)],
    kept.map((share) => [percent(share, 0), ...figures.map((figure) => percent(at(figure, share), 2))]));
}
