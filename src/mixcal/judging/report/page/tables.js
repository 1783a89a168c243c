// Tables that follow the chosen predictions.
function table(title, head, rows) {
  const line = (name, cells) => element("tr", {}, ...cells.map((cell) => element(name, name === "th" ? { scope: "col" } : {}, cell)));
  return element("figure", {}, element("figcaption", {}, title),
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title },
      element("table", {}, element("thead", {}, line("th", head)), element("tbody", {}, ...rows.map((row) => line("td", row))))));
}

function confusionTable(figure) {
  const { matrix, names, pairs } = figure.confusion;
  if (!matrix) return table(`Most confused, ${figure.caption}`, ["true class", "said", "times"], pairs.map((p) => [p[0], p[1], thousands(p[2])]));
  const most = Math.max(1, ...matrix.flatMap((row, i) => row.filter((_, j) => i !== j)));
  const cell = (count, row, i, j) => {
    const share = i === j ? count / Math.max(1, row.reduce((a, b) => a + b, 0)) : count / most;
    const color = i === j ? "--bar" : "--over";
    const style = count ? `background: color-mix(in srgb, var(${color}) ${Math.round(8 + 52 * share)}%, transparent)` : "";
    return element("td", { style, title: `${names[i]} said to be ${names[j]}: ${count}` }, count ? thousands(count) : "·");
  };
  const head = element("tr", {}, element("th", {}, "true ↓ said →"), ...names.map((name) => element("th", { scope: "col", title: name }, name)));
  const body = matrix.map((row, i) =>
    element("tr", {}, element("th", { scope: "row", title: names[i] }, names[i]), ...row.map((count, j) => cell(count, row, i, j))));
  return element("figure", {}, element("figcaption", {}, figure.caption),
    element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Confusion, ${figure.caption}` },
      element("table", { class: "confusion" }, element("thead", {}, head), element("tbody", {}, ...body))));
}

function classTable(figure) {
  return table(figure.caption, ["when it says", "times", "confidence", "accuracy", "gap"], figure.classes.map(([name, count, confidence, accuracy]) =>
    [name, thousands(count), percent(confidence), percent(accuracy), `${confidence > accuracy ? "+" : ""}${percent(confidence - accuracy)}`]));
}
