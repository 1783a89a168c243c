// Reliability diagrams. The picture and the numbers under it come from the same sums of each bin.
const FRAME = { left: 40, right: 372, top: 10, bottom: 342 };
const COUNTS = { left: 40, right: 372, top: 392, bottom: 452 };
const HEIGHT = 476;

function bins(sums) {
  return sums.counts.map((count, m) => ({
    count,
    from: sums.edges[m],
    to: sums.edges[m + 1],
    accuracy: count ? sums.right[m] / count : 0,
    confidence: count ? sums.confidence[m] / count : 0,
    low: sums.low[m],
    high: sums.high[m],
    bandLow: sums.band_low[m],
    bandHigh: sums.band_high[m],
  }));
}

function measures(sums) {
  const held = bins(sums).filter((bin) => bin.count);
  const n = held.reduce((total, bin) => total + bin.count, 0);
  const sum = (value) => held.reduce((total, bin) => total + (bin.count / n) * value(bin), 0);
  const gap = (bin) => bin.confidence - bin.accuracy;
  return {
    n,
    ece: sum((bin) => Math.abs(gap(bin))),
    oe: sum((bin) => Math.max(gap(bin), 0)),
    ue: sum((bin) => Math.max(-gap(bin), 0)),
    mce: Math.max(...held.map((bin) => Math.abs(gap(bin)))),
    accuracy: sum((bin) => bin.accuracy),
    confidence: sum((bin) => bin.confidence),
  };
}

function square(label) {
  const chart = svg("svg", { viewBox: `0 0 384 ${HEIGHT}`, role: "img", tabindex: 0, "aria-label": label });
  const x = scale(0, 1, FRAME.left, FRAME.right);
  const y = scale(0, 1, FRAME.bottom, FRAME.top);
  const round = [0, 0.2, 0.4, 0.6, 0.8, 1];
  axes(chart, FRAME, x, y, {
    xTicks: round, yTicks: round, xText: (v) => v.toFixed(1), yText: (v) => v.toFixed(1), xLabel: "confidence",
  });
  // Beside the ticks: inside the frame a tall first bar would hide it.
  const middle = (FRAME.top + FRAME.bottom) / 2;
  svg("text", { x: 10, y: middle, transform: `rotate(-90 10 ${middle})`, "text-anchor": "middle" }, chart, "accuracy");
  return { chart, x, y };
}

function box(parent, name, x, y, from, to, low, high) {
  const inset = Math.min(0.8, (x(to) - x(from)) / 6);
  return svg("rect", {
    class: name, x: x(from) + inset, y: y(high), width: Math.max(x(to) - x(from) - 2 * inset, 0.6),
    height: Math.max(y(low) - y(high), 0),
  }, parent);
}

function drawBinned(figure, sums, kind) {
  const found = measures(sums);
  const { chart, x, y } = square(
    `Reliability diagram of ${figure.title}: ECE ${percent(found.ece, 2)} with ${sums.counts.length} bins. Arrow keys walk through the bins.`);
  const all = bins(sums);
  const held = all.filter((bin) => bin.count);
  for (const bin of held) box(chart, "null-band", x, y, bin.from, bin.to, bin.bandLow, bin.bandHigh);
  for (const bin of held) {
    box(chart, "accuracy", x, y, bin.from, bin.to, 0, bin.accuracy);
    const over = bin.confidence > bin.accuracy;
    box(chart, over ? "gap-over" : "gap-under", x, y, bin.from, bin.to,
      Math.min(bin.accuracy, bin.confidence), Math.max(bin.accuracy, bin.confidence));
    box(chart, "null-edge", x, y, bin.from, bin.to, bin.bandLow, bin.bandHigh);
  }
  svg("line", { class: "diagonal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }, chart);
  for (const bin of held) {
    svg("line", { class: "whisker", x1: x(bin.confidence), x2: x(bin.confidence), y1: y(bin.low), y2: y(bin.high) }, chart);
    svg("circle", { class: "point", cx: x(bin.confidence), cy: y(bin.accuracy), r: 3 }, chart);
  }
  drawCounts(chart, x, held, found, kind);
  const cursor = svg("rect", { class: "cursor", y: FRAME.top, height: COUNTS.bottom - FRAME.top, visibility: "hidden" }, chart);
  return { chart, found, held, cursor, x };
}

// In bins of equal mass the counts say nothing, so their density is drawn.
function drawCounts(chart, x, held, found, kind) {
  const tall = (bin) => (kind === "mass" ? bin.count / Math.max(bin.to - bin.from, 1e-6) : bin.count);
  const most = Math.max(...held.map(tall));
  const y = scale(0, most, COUNTS.bottom, COUNTS.top);
  svg("line", { class: "axis", x1: COUNTS.left, x2: COUNTS.right, y1: COUNTS.bottom, y2: COUNTS.bottom }, chart);
  for (const bin of held) box(chart, "count", x, y, bin.from, bin.to, 0, tall(bin));
  meanLines(chart, x, found);
  if (kind !== "mass") svg("text", { x: COUNTS.left - 6, y: COUNTS.top + 4, "text-anchor": "end" }, chart, shortened(most));
  svg("text", { x: COUNTS.left, y: COUNTS.bottom + 17 }, chart, kind === "mass" ? "density" : "samples");
}

const shortened = (count) => (count >= 10000 ? `${Math.round(count / 1000)}k` : `${Math.round(count)}`);

function meanLines(chart, x, found) {
  for (const [name, value] of [["mean-confidence", found.confidence], ["mean-accuracy", found.accuracy]])
    svg("line", { class: name, x1: x(value), x2: x(value), y1: COUNTS.top, y2: COUNTS.bottom }, chart);
  svg("text", { x: COUNTS.right, y: COUNTS.bottom + 17, "text-anchor": "end" }, chart,
    `┃ accuracy ${percent(found.accuracy)}   ┇ confidence ${percent(found.confidence)}`);
}

function drawSmooth(figure) {
  const curve = figure.smooth;
  const { chart, x, y } = square(`Smooth reliability diagram of ${figure.title}: smooth ECE ${percent(curve.error.value, 2)}.`);
  svg("line", { class: "diagonal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }, chart);
  const upper = curve.confidence.map((c, i) => `${x(c)},${y(curve.high[i])}`);
  const lower = curve.confidence.map((c, i) => `${x(c)},${y(curve.low[i])}`).reverse();
  svg("polygon", { class: "smooth-band", points: [...upper, ...lower].join(" ") }, chart);
  svg("polyline", { class: "smooth-line", points: curve.confidence.map((c, i) => `${x(c)},${y(curve.accuracy[i])}`).join(" ") }, chart);
  const up = scale(0, 1, COUNTS.bottom, COUNTS.top);
  const outline = curve.confidence.map((c, i) => `${x(c)},${up(curve.mass[i])}`);
  const [first, last] = [x(curve.confidence[0]), x(curve.confidence.at(-1))];
  svg("polygon", { class: "count", points: [`${first},${COUNTS.bottom}`, ...outline, `${last},${COUNTS.bottom}`].join(" ") }, chart);
  svg("line", { class: "axis", x1: COUNTS.left, x2: COUNTS.right, y1: COUNTS.bottom, y2: COUNTS.bottom }, chart);
  meanLines(chart, x, measures(figure.width[15]));
  svg("text", { x: COUNTS.left, y: COUNTS.bottom + 17 }, chart, "density");
  return chart;
}

function readout(value, name, interval, level, more) {
  return element("div", { class: "numbers" },
    element("p", { class: "readout" },
      element("span", { class: "big" }, `${name} `,
        element("output", { "data-measure": "ece", "data-value": value }, percent(value, 2))),
      element("span", { class: "soft" }, interval ? `${Math.round(100 * level)} % interval ${(100 * interval[0]).toFixed(2)} – ${percent(interval[1], 2)}` : "")),
    element("ul", { class: "measures" }, ...more.map((text) => element("li", {}, text))));
}

function diagram(figure, kind, number) {
  const caption = element("figcaption", {}, figure.caption, element("span", { class: "soft" }, `${figure.title}, n = ${thousands(figure.n)}`));
  if (kind === "smooth") {
    const { error, bandwidth } = figure.smooth;
    return element("figure", {}, caption, drawSmooth(figure),
      readout(error.value, "smooth ECE", [error.low, error.high], figure.level, [`bandwidth ${bandwidth.toFixed(3)}`]));
  }
  const sums = figure[kind][number];
  const { chart, found, held, cursor, x } = drawBinned(figure, sums, kind);
  const live = element("p", { class: "bin-readout", "aria-live": "polite" }, "Point at a bin, or focus the diagram and use the arrow keys.");
  movable(chart, held.length, (px) => nearestBin(held, x, px), (at) => {
    cursor.setAttribute("visibility", at === null ? "hidden" : "visible");
    if (at === null) return;
    const bin = held[at];
    cursor.setAttribute("x", x(bin.from));
    cursor.setAttribute("width", Math.max(x(bin.to) - x(bin.from), 1));
    live.textContent = `Confidence ${bin.from.toFixed(3)} – ${bin.to.toFixed(3)}: ${thousands(bin.count)} sample${bin.count === 1 ? " claims" : "s claim"} ` +
      `${percent(bin.confidence)} and ${bin.count === 1 ? "is" : "are"} right ${percent(bin.accuracy)} of the time (${(100 * bin.low).toFixed(1)} – ${percent(bin.high)}).`;
  });
  const numbers = readout(found.ece, "ECE", sums.interval, figure.level, [
    ...(sums.null ? [`a calibrated model shows ${(100 * sums.null[0]).toFixed(2)} – ${percent(sums.null[1], 2)}`] : []),
    `OE ${percent(found.oe, 2)}`, `UE ${percent(found.ue, 2)}`, `MCE ${percent(found.mce, 2)}`,
    `accuracy ${percent(found.accuracy, 2)}`, `mean confidence ${percent(found.confidence, 2)}`]);
  numbers.append(live);
  return element("figure", {}, caption, chart, numbers);
}

function nearestBin(held, x, px) {
  const distance = (bin) => Math.max(x(bin.from) - px, px - x(bin.to), 0);
  return held.reduce((best, bin, i) => (distance(bin) < distance(held[best]) ? i : best), 0);
}

function binTable(figure, kind, number) {
  const sums = figure[kind === "smooth" ? "width" : kind][number];
  const head = ["confidence from", "to", "samples", "confidence", "accuracy", "gap"];
  return table(figure.caption, head, bins(sums).map((bin) => [
    bin.from.toFixed(3), bin.to.toFixed(3), thousands(bin.count),
    bin.count ? percent(bin.confidence) : "", bin.count ? percent(bin.accuracy) : "",
    bin.count ? `${bin.confidence > bin.accuracy ? "+" : ""}${percent(bin.confidence - bin.accuracy)}` : ""]));
}
