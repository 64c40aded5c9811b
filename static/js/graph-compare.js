// The drawing beside that of another step: nodes that are added, removed, changed and grouped, as its text is compared.
import { $, $$ } from "./dom.js";
import { fragment } from "./fragments.js";
import { baseline } from "./kept.js";
import { on } from "./state.js";

const SIGNS = { added: "+", changed: "±", removed: "−" };
const GRAPH = "graph";
let asking = 0;

export function startGraphCompare() {
  on("drawn", compare);
  document.addEventListener("click", async ({ target }) => { if (target.id === "time-kernels") (await import("./model/times.js")).timeKernels(target); });
  on("text", (pane) => { if (pane === GRAPH) compare(); });
}

/** The drawing of the step that the graph's text is compared with; empty where there is none. */
function other() {
  const steps = [...($("#step-graph")?.options ?? [])];
  const against = $("#against-graph")?.value ?? "";
  const shown = $("#graph")?.dataset.key;
  if (!against || !shown) return "";
  if (baseline(GRAPH)) return baseline(GRAPH).drawing;
  const chosen = $("#step-graph").selectedIndex;
  const before = against === "previous"
    ? steps.slice(0, chosen).findLast(({ dataset }) => dataset.drawing && dataset.drawing !== shown)
    : steps.find(({ value }) => value === against);
  return before?.dataset.drawing ?? "";
}

async function compare() {
  asking += 1;
  const mine = asking;
  clear();
  const graph = $("#graph");
  if (graph?.dataset.compared) { // with another graph, by the server
    $("#graph-compared").textContent = graph.dataset.compared;
    return;
  }
  const key = other();
  if (!key) return;
  const own = [...$("#step-graph").options].some(({ dataset }) => dataset.drawing === key);
  const query = own ? graph.dataset.common : new URLSearchParams({ fold: new URLSearchParams(graph.dataset.common).get("fold") });
  const drawing = await fragment(`/graph/${key}?${query}`);
  if (mine !== asking || !drawing.ok || $("#graph") !== graph) return; // then nothing is marked
  const [before, after] = [drawing.copy(), graph].map((root) => $$(".node", root));
  show(...(own ? [bySlot(before), bySlot(after)] : paired(before, after)));
}

const bySlot = (nodes) => new Map(nodes.map((node) => [node.dataset.slot, node]));

/** The nodes of drawings of different programs, by what the two share: nodes that tell the same, then those with the same
 * operator, each in the order of the drawings. */
function paired(before, after) {
  const pairs = [new Map(), new Map()];
  let rest = [before, after];
  for (const key of [told, ({ dataset }) => dataset.label]) {
    const open = new Map();
    for (const node of rest[0]) open.set(key(node), [...(open.get(key(node)) ?? []), node]);
    const matched = new Set();
    for (const node of rest[1]) {
      const other = open.get(key(node))?.shift();
      if (!other) continue;
      const name = `${pairs[0].size}`;
      pairs[0].set(name, other);
      pairs[1].set(name, node);
      matched.add(node).add(other);
    }
    rest = rest.map((nodes) => nodes.filter((node) => !matched.has(node)));
  }
  rest.forEach((nodes, side) => nodes.forEach((node, index) => pairs[side].set(`${side ? "new" : "old"} ${index}`, node)));
  return pairs;
}
const told = (node) => $("title", node).textContent;

function show(before, after) {
  const added = [...after].filter(([slot]) => !before.has(slot)).map(([, node]) => node);
  const changed = [...after].filter(([slot, node]) => before.has(slot) && told(before.get(slot)) !== told(node)).map(([, node]) => node);
  const removed = [...before].filter(([slot]) => !after.has(slot)).map(([, node]) => ghost(node));
  for (const [what, nodes] of Object.entries({ added, changed, removed })) for (const node of nodes) sign(node, what);
  const fused = newGroups(after, before);
  const split = newGroups(before, after);
  for (const node of fused.flat()) node.classList.add("is-fused");
  const nodes = [[added, "added"], [removed, "removed"], [changed, "changed"]].map(([all, word]) => `${all.length} ${word}`);
  const groups = [[fused, "new"], [split, "former"]].filter(([all]) => all.length).map(([all, word]) => `${all.flat().length} nodes in ${all.length} ${word} group${all.length === 1 ? "" : "s"}`);
  $("#graph-compared").textContent = [...nodes, ...groups].join(" · ");
}

/** The fused groups of one drawing that have other nodes than each group of the other, as lists of nodes. */
function newGroups(nodes, others) {
  const known = new Set([...groupsOf(others).values()].map(members));
  return [...groupsOf(nodes).values()].filter((group) => !known.has(members(group))).map((group) => group.map(([, node]) => node));
}
const members = (group) => group.map(([slot]) => slot).sort().join();

/** The nodes of each fused group, with their slots. */
function groupsOf(nodes) {
  const groups = new Map();
  for (const entry of nodes) {
    const { group } = entry[1].dataset;
    if (group) groups.set(group, [...(groups.get(group) ?? []), entry]);
  }
  return groups;
}

/** A node that is not there any more, where it was. */
function ghost(node) {
  const made = document.importNode(node, true);
  made.setAttribute("class", "ghost gone");
  made.setAttribute("aria-hidden", "true");
  for (const name of ["origins", "slot", "group"]) delete made.dataset[name];
  $("#scene").append(made);
  return made;
}

function sign(node, what) {
  node.classList.add(`is-${what}`);
  const mark = document.createElementNS(node.namespaceURI, "text");
  mark.setAttribute("class", "sign");
  mark.setAttribute("x", "2"); // above the corner: names fill narrow nodes
  mark.setAttribute("y", "-4");
  mark.textContent = SIGNS[what];
  node.append(mark);
}

function clear() {
  if ($("#graph")?.dataset.compared) return;
  for (const part of $$("#graph .gone, #graph .sign")) part.remove();
  for (const node of $$("#graph :is(.is-added, .is-changed, .is-fused)")) node.classList.remove("is-added", "is-changed", "is-fused");
  if ($("#graph-compared")) $("#graph-compared").textContent = "";
}
