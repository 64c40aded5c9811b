// The drawing beside that of another step: nodes that are added, removed and changed, as its text is compared.
import { $, $$ } from "./dom.js";
import { on } from "./state.js";

const SIGNS = { added: "+", changed: "±", removed: "−" };
let asking = 0;

export function startGraphCompare() {
  on("drawn", compare);
  on("text", (pane) => { if (pane === "graph") compare(); });
}

/** The drawing of the step that the graph's text is compared with; empty where there is none. */
function other() {
  const steps = [...($("#step-graph")?.options ?? [])];
  const against = $("#against-graph")?.value ?? "";
  const shown = $("#graph")?.dataset.key;
  if (!against || !shown) return "";
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
  const key = other();
  if (!key) return;
  const answer = await fetch(`/graph/${key}?${graph.dataset.common}`, { headers: { "HX-Request": "true" } }).catch(() => null); // nothing is marked
  const html = answer?.ok ? await answer.text() : "";
  if (mine !== asking || !html || $("#graph") !== graph) return;
  const holder = document.createElement("template");
  holder.innerHTML = html; // rendered and escaped by our own server
  show(bySlot(holder.content), bySlot(graph));
}

const bySlot = (root) => new Map($$(".node", root).map((node) => [node.dataset.slot, node]));
const told = (node) => $("title", node).textContent;

function show(before, after) {
  const added = [...after].filter(([slot]) => !before.has(slot)).map(([, node]) => node);
  const changed = [...after].filter(([slot, node]) => before.has(slot) && told(before.get(slot)) !== told(node)).map(([, node]) => node);
  const removed = [...before].filter(([slot]) => !after.has(slot)).map(([, node]) => ghost(node));
  for (const [what, nodes] of Object.entries({ added, changed, removed })) for (const node of nodes) sign(node, what);
  $("#graph-compared").textContent = [[added, "added"], [removed, "removed"], [changed, "changed"]].map(([nodes, word]) => `${nodes.length} ${word}`).join(" · ");
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
  mark.setAttribute("x", "9");
  mark.setAttribute("y", "14");
  mark.textContent = SIGNS[what];
  node.append(mark);
}

function clear() {
  for (const part of $$("#graph .gone, #graph .sign")) part.remove();
  for (const node of $$("#graph .is-added, #graph .is-changed")) node.classList.remove("is-added", "is-changed");
  if ($("#graph-compared")) $("#graph-compared").textContent = "";
}
