// From one drawing to the next: what moved glides, what is gone fades where it was, what is new grows from what it came from.
import { $, $$ } from "./dom.js";

const MILLISECONDS = 260;
const MAX_MOVING = 400; // nodes; more than these would not move smoothly
const still = window.matchMedia("(prefers-reduced-motion: reduce)");

const inSight = () => $$("#graph .band:not([hidden]) .node");
const origins = (node) => node.dataset.origins.split(" ").filter(Boolean);

function placeOf(node, moved = 0) {
  const [, x, y] = /translate\(([-\d.]+) ([-\d.]+)\)/.exec(node.getAttribute("transform"));
  return `translate(${x}px, ${Number(y) + moved}px)`;
}

/** Remember what is in sight, before another drawing takes its place. */
export function beginChange() {
  if (still.matches) return null;
  const nodes = inSight();
  return nodes.length && nodes.length <= MAX_MOVING ? nodes : null;
}

/** Show how the drawing that was there, and moved so far down with what is in sight, became the one that is there now. */
export function showChange(before, moved) {
  const after = before ? inSight() : [];
  if (!before || after.length > MAX_MOVING) return;
  const bySlot = new Map(before.map((node) => [node.dataset.slot, node]));
  const byOrigin = new Map(before.flatMap((node) => origins(node).map((id) => [id, node])));
  const slots = new Set($$("#graph .node").map((node) => node.dataset.slot));
  for (const node of after) {
    const old = bySlot.get(node.dataset.slot);
    if (old) glide(node, placeOf(old, moved));
    else grow(node, byOrigin.get(origins(node).findLast((id) => byOrigin.has(id))), moved);
  }
  for (const node of before) if (!slots.has(node.dataset.slot)) fade(node, moved);
}

function glide(node, from) {
  const to = placeOf(node);
  if (from !== to) node.animate([{ transform: from }, { transform: to }], { duration: MILLISECONDS, easing: "ease-in-out" });
}

function grow(node, source, moved) {
  const to = placeOf(node);
  const from = source ? placeOf(source, moved) : to;
  node.animate([{ transform: `${from} scale(.3)`, opacity: 0 }, { transform: to, opacity: 1 }], { duration: MILLISECONDS, easing: "ease-out" });
}

function fade(node, moved) {
  const ghost = node.cloneNode(true);
  ghost.style.transform = placeOf(node, moved);
  ghost.setAttribute("class", "ghost");
  ghost.setAttribute("aria-hidden", "true");
  delete ghost.dataset.origins;
  $("#scene").append(ghost);
  ghost.animate([{ opacity: 1 }, { opacity: 0 }], { duration: MILLISECONDS }).finished.finally(() => ghost.remove());
}
