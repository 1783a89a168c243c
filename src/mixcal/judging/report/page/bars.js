// Bars of a metric, one a run, with intervals; below them the differences around zero.
const ROW = 40;

function barChart(spec) {
  const held = spec.rows.filter((row) => row.value !== null);
  const gaps = spec.rows.filter((row) => row.gap);
  const factor = spec.percent ? 100 : 1;
  const text = (value) => `${Number((factor * value).toPrecision(3))}${spec.percent ? " %" : ""}`.replace("-", "−");
  const wide = { left: 8, right: 376, top: 4, bottom: 4 + ROW * held.length };
  const below = { left: 8, right: 376, top: wide.bottom + 44, bottom: wide.bottom + 44 + ROW * gaps.length };
  const height = gaps.length ? below.bottom + 24 : wide.bottom + 24;
  const chart = svg("svg", { viewBox: `0 0 384 ${height}`, role: "img",
    "aria-label": `${spec.title}: ${spec.rows.map((row) => `${row.name} ${row.text}${row.gap ? `, difference ${row.gap.text}` : ""}`).join("; ")}` });
  const tops = held.flatMap((row) => [row.value, row.high ?? row.value]);
  const x = scale(0, Math.max(...tops, 1e-9), wide.left, wide.right);
  underAxis(chart, wide, x, ticks(0, Math.max(...tops, 1e-9), 4), text);
  held.forEach((row, i) => {
    const y = wide.top + ROW * i;
    svg("text", { class: "bar-name", x: wide.left + 2, y: y + 14 }, chart, `${row.name}  ${row.text.split(" ")[0]}`);
    svg("rect", { class: "metric-bar", x: x(0), y: y + 20, width: Math.max(x(row.value) - x(0), 0), height: 12 }, chart);
    whisker(chart, x, row, y + 26);
  });
  if (gaps.length) drawGaps(chart, below, gaps, text);
  return element("figure", {}, element("figcaption", {}, spec.title), chart);
}

function drawGaps(chart, frame, rows, text) {
  const ends = rows.flatMap((row) => [row.gap.value, row.gap.low ?? row.gap.value, row.gap.high ?? row.gap.value]);
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  const room = (high - low || 1e-9) * 0.04;
  const x = scale(low - room, high + room, frame.left, frame.right);
  svg("text", { x: frame.left + 2, y: frame.top - 6 }, chart, "differences");
  underAxis(chart, frame, x, ticks(low, high, 4), text);
  svg("line", { class: "diagonal", x1: x(0), x2: x(0), y1: frame.top, y2: frame.bottom }, chart);
  rows.forEach((row, i) => {
    const y = frame.top + ROW * i;
    svg("text", { class: "bar-name", x: frame.left + 2, y: y + 14 }, chart, `${row.name}  ${row.gap.text.split(" ")[0]}${row.gap.verdict ? " *" : ""}`);
    whisker(chart, x, row.gap, y + 26);
    svg("circle", { class: `gap-point ${row.gap.verdict}`, cx: x(row.gap.value), cy: y + 26, r: 5 }, chart);
  });
}

function whisker(chart, x, found, y) {
  if (found.low === null || found.high === null) return;
  svg("line", { class: "whisker", x1: x(found.low), x2: x(found.high), y1: y, y2: y }, chart);
  for (const end of [found.low, found.high])
    svg("line", { class: "whisker", x1: x(end), x2: x(end), y1: y - 4, y2: y + 4 }, chart);
}

function underAxis(chart, frame, x, marks, text) {
  for (const mark of marks) {
    svg("line", { class: "grid", x1: x(mark), x2: x(mark), y1: frame.top, y2: frame.bottom }, chart);
    const anchor = x(mark) < 24 ? "start" : x(mark) > 352 ? "end" : "middle";
    svg("text", { x: x(mark), y: frame.bottom + 16, "text-anchor": anchor }, chart, text(mark));
  }
}
