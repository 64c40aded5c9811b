// The two levels of a model: its graph with the kernels, and the loops and code of one kernel.
import { $, $$ } from "./dom.js";
import { keepHere, readHere } from "./draft.js";
import { setLevel } from "./layout.js";
import { paneOfGroup } from "./panes.js";
import { on, state } from "./state.js";
import { setOption } from "./steps.js";

let hadGraph = false; // whether the last answer had a graph
let before = readHere("level"); // of the model, where the page was reloaded
let picked = null; // the node of the drawing that was chosen last

export function startLevels() {
  document.addEventListener("click", ({ target }) => {
    const level = target.closest("[data-level]:not(#right)");
    const node = target.closest("#graph .node");
    if (node) picked = node;
    if (level) choose(level.dataset.level);
    const chip = target.closest("#strip .chip");
    if (chip) show(paneOfGroup(chip.dataset.group).level);
    const kernel = target.closest("[data-show-kernel]");
    if (kernel) showKernel(kernel.dataset.showKernel);
  });
  on("answered", arrived);
  on("drawn", heat);
  on("shown", mark);
  arrived();
}

/** A graph that appears is shown, or the level that the visitor was at; where there is none, the code is. */
function arrived() {
  const graph = Boolean($("#strip .group.graph"));
  if (graph !== hadGraph) {
    hadGraph = graph;
    show(graph ? before || "graph" : "code");
    if (graph) before = null;
  } else mark();
  heat();
}

/** Go to a level: with a node pinned, to the kernel that it became. */
function choose(level) {
  const pinned = pinnedKernels();
  if (level === "code" && pinned.length && !pinned.includes($("#pane-kernels tr.current")?.dataset.kernel)) showKernel(pinned[0]);
  else show(level);
}

/** Names of the kernels that what is pinned became, the hottest first. */
function pinnedKernels() {
  const group = picked?.isConnected && picked.matches(".related") && groups().find(({ nodes }) => nodes.includes(picked));
  if (group) return of(kernels(), group.operators, group.origins).map(({ name }) => name);
  return $$("#pane-kernels tr.related").map(({ dataset }) => dataset.kernel);
}

const show = setLevel;

function mark() {
  const level = $("#right").dataset.level;
  if (hadGraph) keepHere("level", level);
  for (const button of $$("#strip [data-level]")) button.setAttribute("aria-pressed", String(button.dataset.level === level));
}

/** Show a kernel down to its assembly. */
export function showKernel(name) {
  state.view.unit = -1;
  setOption("kernel", name);
  show("code");
}

/** Colour the nodes of the drawing by the time that their kernels take. */
function heat() {
  const rows = kernels();
  const measured = rows.some((row) => row.heat);
  for (const { nodes, operators, origins } of groups()) {
    const level = measured ? Math.max(0, ...of(rows, operators, origins).map((row) => row.heat)) : 0;
    for (const node of nodes) for (let heat = 1; heat <= 4; heat += 1) node.classList.toggle(`heat-${heat}`, heat === level);
  }
}

const words = (text) => text.split(" ").filter(Boolean);

const kernels = () => $$("#pane-kernels tr[data-kernel]").map(({ dataset }) => ({
  name: dataset.kernel, heat: Number(dataset.heat), operators: words(dataset.operators).sort().join(" "), origins: new Set(words(dataset.origins)),
}));

/** The nodes of the drawing by fused group; a node without one is a group of its own. */
function groups() {
  const byName = new Map();
  for (const node of $$("#graph .node")) {
    const key = node.dataset.group || node;
    if (!byName.has(key)) byName.set(key, { nodes: [], operators: [], origins: [] });
    const group = byName.get(key);
    group.nodes.push(node);
    group.operators.push(node.dataset.label);
    group.origins.push(...words(node.dataset.origins));
  }
  return [...byName.values()];
}

/** The kernels that a group became: those of the same operators, else those that have the operator in them. */
function of(rows, operators, origins) {
  const near = rows.filter((row) => origins.some((id) => row.origins.has(id)));
  const listed = [...operators].sort().join(" ");
  const same = near.filter((row) => row.operators === listed);
  return same.length ? same : near.filter((row) => operators.some((name) => words(row.operators).includes(name)));
}
