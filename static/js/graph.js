// The drawn graph: fetched by key, moved and zoomed, searched, walked by keyboard.
import { $, $$, announce, narrow, toast } from "./dom.js";
import { fetchAhead, fragment } from "./fragments.js";
import { beginChange, showChange } from "./graph-change.js";
import { on, tell } from "./state.js";

const ZOOM = 1.2;
const SCALE = { min: 0.02, max: 3 };
const MARGIN = 24; // beside the outermost nodes: frames of groups, and edges that go around
const READABLE = 0.85;
const READABLE_ON_PHONES = 0.5; // where a drawing that fits is worth more than its types
const ABOVE = 110; // how far above a node the boxes around it begin at most
const view = { x: 0, y: 0, scale: 1 }; // top left corner in the drawing's units, pixels a unit
let shown = ""; // key and folding of what is drawn
let steps = ""; // what the drawings that no node moves between have in common
let fitted = true; // whether it is shown as at first, and not as the visitor moved it
let cursor = -1;
let matches = []; // positions of the nodes that the search found
let bands = [];
let room = { width: 0, height: 0 }; // of the drawing's pane, as last observed: to ask for it lays out the page

export function startGraph() {
  const body = $("#body-drawing");
  if (!body) return;
  on("answered", load);
  on("text", (pane) => { if (pane === "graph") load(); });
  on("stepping", (pane) => { if (pane === "graph") load(); });
  on("ahead", ({ pane, index }) => { if (pane === "graph" && drawn(index).key) fetchAhead(`/graph/${drawn(index).address}`); });
  on("shown", () => { if (!view.placed) fit(); });
  document.addEventListener("change", ({ target }) => { if (target.id === "fold") load(); });
  document.addEventListener("input", ({ target }) => { if (target.id === "graph-search") { search(target.value); showMatch(); } });
  document.addEventListener("keydown", (event) => { if (event.target.id === "graph-search" && event.key === "Enter") next(); });
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-zoom]");
    const row = target.closest("[data-nodes]");
    if (row) goToNext(row);
    if (button) ({ in: () => zoom(ZOOM), out: () => zoom(1 / ZOOM), fit: () => fit(true) }[button.dataset.zoom])();
  });
  body.addEventListener("wheel", wheel, { passive: false });
  body.addEventListener("pointerdown", drag);
  body.addEventListener("keydown", keys);
  new ResizeObserver(([{ contentRect }]) => { room = contentRect; if (fitted) fit(); else place(); }).observe(body);
  load();
}

/** The drawing of a step; one that there was no time for is shown as the one before it. */
function drawn(index) {
  const options = [...($("#step-graph")?.options ?? [])];
  const key = options.slice(0, index + 1).findLast((step) => step.dataset.drawing)?.dataset.drawing ?? "";
  const last = options.findLast((step) => step.dataset.drawing)?.dataset.drawing ?? "";
  const folding = $("#fold")?.value ?? "";
  const united = $("#against-graph")?.dataset.united ?? ""; // the drawing of another graph, to be drawn with this one
  const common = `fold=${folding}&last=${last}${united && `&with=${united}`}`;
  return { key, folding, common, address: key && `${key}?${common}` };
}

/** Fetch the drawing of the step that is chosen. */
async function load() {
  const { key, folding, common, address } = drawn($("#step-graph")?.selectedIndex ?? -1);
  if (address === shown) return;
  shown = address;
  const body = $("#body-drawing");
  if (!key) { body.replaceChildren(); return; }
  const drawing = await fragment(`/graph/${address}`);
  if (address !== shown) return;
  if (drawing.problem) { shown = ""; toast(drawing.problem); return; }
  if (!drawing.characters) { toast("This drawing has expired; compile again to see it"); return; }
  const first = !$("#graph");
  const copy = drawing.copy();
  const stays = svg()?.dataset.name === copy.querySelector("#graph")?.dataset.name; // a file's nodes have places of their own
  const same = common === steps && stays;
  const change = same ? beginChange() : null;
  const places = stays && !fitted ? heights() : new Map();
  steps = common;
  body.replaceChildren(copy);
  bands = $$("#graph .band").map((node) => ({ node, top: Number(node.dataset.top), bottom: Number(node.dataset.bottom) }));
  for (const { node } of bands) node.toggleAttribute("hidden", true); // until it is placed: nothing out of sight is laid out
  body.dataset.folding = folding;
  if ($("#graph")) $("#graph").dataset.common = common;
  cursor = -1;
  const moved = hold(places);
  if (first || !stays || body.dataset.folded !== folding || (!same && (moved === null || !showsNode()))) fit(); else place();
  body.dataset.folded = folding;
  showChange(change, moved ?? 0);
  matches = [];
  const sought = $("#graph-search")?.value;
  if (sought) search(sought);
  tell("drawn");
  const notable = fitted && $("#graph .node.faulty, #graph[data-compared] .node:is(.is-added, .is-changed, .is-removed)");
  if (notable && !inSight(notable)) centre(notable);
}

/** How high each node stands, by what it is in all steps. */
const heights = () => new Map(nodes().map((node) => [node.dataset.slot, middleOf(node).y]));

/** Keep what stands in the middle of the pane there: rows without a node are left out. Says how far that moved; null if
 * nothing stays. */
function hold(places) {
  const middle = view.y + room.height / view.scale / 2;
  const distance = ([slot]) => Math.abs(places.get(slot) - middle);
  const [nearest] = [...heights()].filter(([slot]) => places.has(slot)).sort((a, b) => distance(a) - distance(b));
  const moved = nearest ? nearest[1] - places.get(nearest[0]) : null;
  view.y += moved ?? 0;
  return moved;
}

/** Whether the view is of a place that some node stands at. */
function showsNode() {
  const [right, bottom] = [view.x + room.width / view.scale, view.y + room.height / view.scale];
  return nodes().map(middleOf).some(({ x, y }) => x > view.x && x < right && y > view.y && y < bottom);
}

const svg = () => $("#graph");
const size = () => { const graph = svg(); return { width: Number(graph.getAttribute("width")), height: Number(graph.getAttribute("height")) }; };

/** Show what the view says; the drawing fills its pane. */
function place() {
  const graph = svg();
  if (!graph || !room.width) return;
  // Not by the view box: browsers lay out the whole drawing again when that changes.
  $("#scene").setAttribute("transform", `scale(${view.scale}) translate(${-view.x} ${-view.y})`);
  graph.classList.toggle("far", view.scale < 0.45);
  // A large graph moves smoothly when only what is in sight is drawn.
  const bottom = view.y + room.height / view.scale;
  for (const band of bands) band.node.toggleAttribute("hidden", band.top > bottom || band.bottom < view.y);
  view.placed = true;
}

/** Show the inputs at the top at a readable size; called again, the whole drawing. */
function fit(again = false) {
  const body = $("#body-drawing");
  if (!svg() || !body.clientWidth) return;
  fitted = !again;
  const { height } = size();
  const { left, width } = extent();
  const all = Math.min(body.clientWidth / width, body.clientHeight / height, 1);
  const readable = Math.max(all, Math.min(1, Math.max(body.clientWidth / width, narrow.matches ? READABLE_ON_PHONES : READABLE)));
  const first = middleOf(nodes()[0]).y;
  const titles = $$("#graph .titles text").map((title) => Number(title.getAttribute("y")));
  const top = Math.min(first - 40, ...titles.filter((y) => y < first && y > first - ABOVE).map((y) => y - 12));
  const spare = width - body.clientWidth / readable;
  const begin = { scale: readable, x: left + spare / 2, y: top };
  if (spare > 0) begin.x = Math.min(left + spare, Math.max(left, columnOf(top, readable) - body.clientWidth / readable / 2));
  const there = again && Math.abs(view.scale - begin.scale) + Math.abs(view.x - begin.x) + Math.abs(view.y - top) < 1e-3;
  Object.assign(view, there ? { scale: all, x: left + (width - body.clientWidth / all) / 2, y: 0 } : begin);
  place();
}

/** The column to begin at: that of the first input, unless far more of the first operators are in sight elsewhere. */
function columnOf(top, scale) {
  const { clientWidth, clientHeight } = $("#body-drawing");
  const input = middleOf(nodes()[0]).x;
  const near = nodes().filter((node) => node.matches(".operator")).map(middleOf).filter(({ y }) => y < top + clientHeight / scale);
  const { x } = near.sort((a, b) => a.x - b.x)[near.length >> 1] ?? { x: input };
  const inSight = (column) => near.filter((at) => Math.abs(at.x - column) * 2 * scale < clientWidth).length;
  return inSight(x) > 2 * inSight(input) ? x : input;
}

/** Where the nodes of this step are: other steps of the drawing may need more room. */
function extent() {
  const boxes = nodes().map((node) => ({ middle: middleOf(node).x, half: Number($("rect", node).getAttribute("width")) / 2 }));
  const left = Math.min(...boxes.map(({ middle, half }) => middle - half)) - MARGIN;
  return { left, width: Math.max(...boxes.map(({ middle, half }) => middle + half)) + MARGIN - left };
}

function middleOf(node) {
  const [, x, y] = /translate\(([-\d.]+) ([-\d.]+)\)/.exec(node.getAttribute("transform")).map(Number);
  return { x: x + Number($("rect", node).getAttribute("width")) / 2, y: y + 20 };
}

function zoom(factor, x = $("#body-drawing").clientWidth / 2, y = $("#body-drawing").clientHeight / 2) {
  const scale = Math.min(SCALE.max, Math.max(SCALE.min, view.scale * factor));
  fitted = false;
  view.x += x / view.scale - x / scale;
  view.y += y / view.scale - y / scale;
  view.scale = scale;
  place();
}

function wheel(event) {
  event.preventDefault();
  if (event.ctrlKey || event.metaKey) {
    const box = $("#body-drawing").getBoundingClientRect();
    zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM, event.clientX - box.left, event.clientY - box.top);
  } else {
    pan(event.deltaX, event.deltaY);
  }
}

function pan(dx, dy) {
  fitted = false;
  view.x += dx / view.scale;
  view.y += dy / view.scale;
  place();
}

function drag(event) {
  if (event.button !== 0) return;
  const body = $("#body-drawing");
  let moved = 0;
  const move = (now) => { moved += Math.abs(now.movementX) + Math.abs(now.movementY); pan(-now.movementX, -now.movementY); };
  const stop = () => {
    body.removeEventListener("pointermove", move);
    body.classList.remove("dragging");
    if (moved > 4) body.addEventListener("click", (click) => click.stopPropagation(), { capture: true, once: true });
  };
  body.classList.add("dragging");
  body.addEventListener("pointermove", move);
  window.addEventListener("pointerup", stop, { once: true });
}

// Nodes

const nodes = () => $$("#graph .node");

function inSight(node, foot = 0) {
  const box = node.getBoundingClientRect();
  const body = $("#body-drawing").getBoundingClientRect();
  return box.left >= body.left && box.right <= body.right && box.top >= body.top && box.bottom <= body.bottom - foot;
}

/** Bring a node to the middle, unless all of it is in sight.
 * @param {Element} node
 * @param {number} foot pixels of the drawing's foot that something else covers */
export function keepInSight(node, foot = 0) {
  fitted = false;
  if (inSight(node, foot)) return;
  centre(node);
  view.y += foot / 2 / view.scale;
  place();
}

/** Bring a node to the middle. */
function centre(node) {
  const { x, y } = middleOf(node);
  const body = $("#body-drawing");
  fitted = false;
  view.x = x - body.clientWidth / view.scale / 2;
  view.y = y - body.clientHeight / view.scale / 2;
  place();
}

/** Go to the node of a row of the comparison of models that follows the one it led to last. */
function goToNext({ dataset }) {
  const slots = dataset.nodes.split(" ");
  dataset.last = slots[(slots.indexOf(dataset.last) + 1) % slots.length];
  go(nodes().findIndex((node) => node.dataset.slot === dataset.last));
}

function go(index) {
  const all = nodes();
  if (!all.length) return;
  cursor = Math.min(all.length - 1, Math.max(0, index));
  all.forEach((node, position) => node.classList.toggle("cursor", position === cursor));
  centre(all[cursor]);
  announce($("title", all[cursor]).textContent.replaceAll("\n", ", "));
}

function search(text) {
  const query = text.trim().toLowerCase();
  matches = [];
  for (const [index, node] of nodes().entries()) {
    const hit = Boolean(query) && $("title", node).textContent.toLowerCase().includes(query);
    node.classList.toggle("found", hit);
    if (hit) matches.push(index);
  }
  const count = $("#graph-found");
  if (count) count.textContent = query ? `${matches.length} found` : "";
}

/** Bring the first match of the search into sight, unless another one is. */
function showMatch() {
  const found = $$("#graph .node.found");
  if (found.length && !found.some((node) => inSight(node))) centre(found[0]);
}

/** Go to the next match of the search. */
function next() {
  if (matches.length) go(matches.find((index) => index > cursor) ?? matches[0]);
}

const STEP = 60;
const KEYS = {
  ArrowDown: () => go(cursor + 1), ArrowUp: () => go(cursor - 1),
  ArrowLeft: () => pan(-STEP, 0), ArrowRight: () => pan(STEP, 0),
  PageDown: () => pan(0, $("#body-drawing").clientHeight * 0.8), PageUp: () => pan(0, -$("#body-drawing").clientHeight * 0.8),
  Home: () => go(0), End: () => go(Infinity),
  "+": () => zoom(ZOOM), "=": () => zoom(ZOOM), "-": () => zoom(1 / ZOOM), "0": () => fit(true), n: next,
  Enter: () => nodes()[cursor]?.dispatchEvent(new MouseEvent("click", { bubbles: true })),
};

function keys(event) {
  const act = event.ctrlKey || event.metaKey || event.altKey ? null : KEYS[event.key];
  if (!act || event.target !== $("#body-drawing")) return;
  event.preventDefault();
  event.stopPropagation();
  act();
}
