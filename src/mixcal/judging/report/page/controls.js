// What the controls do: choose predictions and bins, and draw everything that follows from them.
const data = JSON.parse(document.getElementById("data").textContent);
const by = (id) => document.getElementById(id);
const fill = (id, ...children) => by(id) && by(id).replaceChildren(...children);

function options(select, values) {
  select.replaceChildren(...values.map((value) => element("option", { value }, value)));
}

// A view names its figures by number where several views show the same ones.
function chosen() {
  const view = data.views.find((one) => one.split === by("split").value && one.name === by("view").value);
  return { ...view, figures: view.figures.map((figure) => (data.figures ? data.figures[figure] : figure)) };
}

function drawDiagrams() {
  const kind = document.querySelector("input[name=binning]:checked").value;
  const number = by("bins").value;
  by("bins").disabled = kind === "smooth";
  by("diagrams").classList.toggle("single", chosen().figures.length === 1);
  by("bins-shown").textContent = kind === "smooth" ? "–" : number;
  fill("diagrams", ...chosen().figures.map((figure) => diagram(figure, kind, number)));
  fill("bin-tables", ...chosen().figures.map((figure) => binTable(figure, kind, number)));
}

function drawRest() {
  const { figures } = chosen();
  fill("risk", riskChart(figures), riskTable(figures));
  // Rescaling by one temperature changes no prediction: the same matrix is shown once.
  const matrices = figures.map((figure) => JSON.stringify(figure.confusion));
  fill("confusion", ...figures.filter((_, i) => matrices.indexOf(matrices[i]) === i).map(confusionTable));
  fill("by-class", ...figures.map(classTable));
}

function drawAll() {
  drawDiagrams();
  drawRest();
}

function splitChanged() {
  options(by("view"), data.views.filter((view) => view.split === by("split").value).map((view) => view.name));
  drawAll();
}

by("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
// A page of nothing but pictures has no diagrams to control.
if (by("controls")) {
  by("bins").value = data.bins;
  options(by("split"), [...new Set(data.views.map((view) => view.split))]);
  by("split").addEventListener("change", splitChanged);
  by("view").addEventListener("change", drawAll);
  by("bins").addEventListener("input", drawDiagrams);
  by("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const radio of document.querySelectorAll("input[name=binning]")) radio.addEventListener("change", drawDiagrams);
  splitChanged();
}
fill("curves", ...(data.charts || []).map(lineChart));
fill("bars-figures", ...(data.bars || []).map(barChart));
