// The panel beside the drawn graph: all that is known of the node that was chosen, in whatever step is shown.
import { $, $$, announce, narrow } from "./dom.js";
import { keepInSight } from "./graph.js";
import { on } from "./state.js";

let slot = null; // of the node that is shown
let asking = 0;

export function startNodePanel() {
  const panel = $("#node-panel");
  if (!panel) return;
  document.addEventListener("click", ({ target }) => {
    const node = target.closest("#graph .node");
    if (node) open(node.dataset.slot);
  });
  panel.addEventListener("click", ({ target }) => {
    if (target.closest("#node-close")) close();
    const neighbour = target.closest("[data-slot]");
    const node = neighbour && nodeOf(neighbour.dataset.slot);
    if (node) node.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  });
  for (const part of [panel, $("#body-drawing")]) {
    part.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || slot === null) return;
      event.stopPropagation();
      close();
    });
  }
  on("drawn", () => { if (slot !== null) open(slot); });
}

const nodeOf = (chosen) => $$("#graph .node").find((node) => node.dataset.slot === chosen);

async function open(chosen) {
  const graph = $("#graph");
  if (!graph || !nodeOf(chosen)) { if (graph) close(); return; }
  slot = chosen;
  asking += 1;
  const mine = asking;
  const answer = await fetch(`/graph/${graph.dataset.key}/${chosen}?${graph.dataset.common}`).catch(() => null); // the panel stays as it is
  if (mine !== asking || slot === null) return;
  if (!answer?.ok) { close(); return; }
  const panel = $("#node-panel");
  const shown = !panel.hidden;
  panel.innerHTML = await answer.text(); // rendered and escaped by our own server
  panel.hidden = false;
  panel.scrollTop = 0;
  if (!shown) keepInSight(nodeOf(slot), narrow.matches ? panel.offsetHeight : 0);
  for (const node of $$("#graph .node")) node.classList.toggle("chosen", node.dataset.slot === slot);
  if (!shown) announce(`${$("#node-title").textContent}: its panel follows the drawing; Escape closes it`);
}

function close() {
  const panel = $("#node-panel");
  const inside = panel.contains(document.activeElement);
  slot = null;
  panel.hidden = true;
  for (const node of $$("#graph .chosen")) node.classList.remove("chosen");
  if (inside) $("#body-drawing").focus();
}
