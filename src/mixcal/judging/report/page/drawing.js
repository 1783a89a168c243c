// Elements, scales and axes that every chart uses.
const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes = {}, parent = null, text = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

const percent = (value, digits = 1) => (value === null ? "–" : `${(100 * value).toFixed(digits)} %`);
const thousands = (value) => Math.round(value).toLocaleString("en");
const scale = (low, high, from, to) => (value) =>
  from + ((value - low) / (high - low || 1)) * (to - from);

// Round numbers that cover a range in about so many steps.
function ticks(low, high, wanted = 5) {
  const rough = (high - low) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) found.push(k * step);
  return found;
}

function axes(parent, frame, x, y, options) {
  for (const value of options.xTicks) {
    svg("line", { class: "grid", x1: x(value), x2: x(value), y1: frame.top, y2: frame.bottom }, parent);
    svg("text", { x: x(value), y: frame.bottom + 16, "text-anchor": "middle" }, parent, options.xText(value));
  }
  for (const value of options.yTicks) {
    svg("line", { class: "grid", x1: frame.left, x2: frame.right, y1: y(value), y2: y(value) }, parent);
    svg("text", { x: frame.left - 6, y: y(value) + 4, "text-anchor": "end" }, parent, options.yText(value));
  }
  svg("text", { x: (frame.left + frame.right) / 2, y: frame.bottom + 33, "text-anchor": "middle" }, parent, options.xLabel);
}

// A position within a chart, moved by pointer and arrow keys; `show(null)` hides it.
function movable(chart, count, nearest, show) {
  let at = null;
  const go = (position) => {
    at = position;
    show(at);
  };
  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect();
    go(nearest(((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width));
  });
  chart.addEventListener("pointerleave", () => document.activeElement !== chart && go(null));
  chart.addEventListener("focus", () => at === null && chart.matches(":focus-visible") && go(nearest(1e6)));
  chart.addEventListener("blur", () => go(null));
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -count, End: count }[event.key];
    if (event.key === "Escape") return go(null);
    if (step === undefined) return;
    event.preventDefault();
    go(Math.min(Math.max((at === null ? (step > 0 ? -1 : count) : at) + step, 0), count - 1));
  });
}
