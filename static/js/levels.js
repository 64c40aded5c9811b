// The two levels of a model: its graph with the kernels, and the loops and code of one kernel.
import { $, $$ } from "./dom.js";
import { editor } from "./editor.js";
import { setLevel } from "./layout.js";
import { on, readJson, state } from "./state.js";
import { setOption } from "./steps.js";

let known = false; // whether the last answer had a graph

export function startLevels() {
  document.addEventListener("click", ({ target }) => {
    const level = target.closest("[data-level]:not(#right)");
    if (level) show(level.dataset.level);
    const chip = target.closest("#strip .chip");
    if (chip) show(chip.dataset.group === "graph" ? "graph" : "code");
    const kernel = target.closest("[data-show-kernel]");
    if (kernel) showKernel(kernel.dataset.showKernel);
    const script = target.closest("[data-open-kernel]");
    if (script) open(script.dataset.openKernel);
  });
  on("answered", arrived);
  on("drawn", heat);
  arrived();
}

/** A graph that appears is shown; where there is none, the code is. */
function arrived() {
  const graph = Boolean($("#strip .group.graph"));
  if (graph !== known) show(graph ? "graph" : "code");
  else mark();
  known = graph;
  heat();
}

function show(level) {
  setLevel(level);
  mark();
}

function mark() {
  const level = $("#right").dataset.level;
  for (const button of $$("#strip [data-level]")) button.setAttribute("aria-pressed", String(button.dataset.level === level));
}

/** Show a kernel down to its assembly. */
function showKernel(name) {
  state.view.unit = -1;
  setOption("kernel", name);
  show("code");
}

/** Take the script of a kernel's own into the editor; undo brings the model's back. */
function open(name) {
  delete state.options.kernel;
  editor.text = readJson("kernel-scripts")[name];
}

/** Colour the nodes of the drawing by the time that their kernels take. */
function heat() {
  const rows = $$("#pane-kernels tr[data-heat]").filter((row) => row.dataset.heat !== "0");
  for (const node of $$("#graph .node")) {
    const origins = new Set(node.dataset.origins.split(" "));
    const hottest = Math.max(0, ...rows.filter((row) => row.dataset.origins.split(" ").some((id) => id && origins.has(id))).map((row) => Number(row.dataset.heat)));
    for (let level = 1; level <= 4; level += 1) node.classList.toggle(`heat-${level}`, level === hottest);
  }
}
