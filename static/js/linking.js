// Lights up, in every pane, what the line under the pointer or the cursor came from and what became of it.
import { dim, watchBlocks } from "./dimming.js";
import { $, $$, announce, toast, readJson } from "./dom.js";
import { editor } from "./editor.js";
import { EMPTY, LinkModel, fromSource, isEmpty, meets } from "./links.js";
import { rowHeight, scrollTo, topOf } from "./listings.js";
import { LISTINGS, PANES, paneOf, steppedAt } from "./panes.js";
import { keepInLinks, on, state, tell } from "./state.js";

const TINTS = 8;
const SOURCE = "source";
const AXIS = "axis";
const PIN = /^([a-z]+(?:-\d)?):([\d ]+)$/;
const model = new LinkModel();
const elements = new Map(); // pane -> set number -> lines in the document
const cursors = new Map(); // pane -> index of the line that the arrow keys are at
let marked = new Map(); // axes of the schedule and nodes of the drawing -> footprint
let lit = new Set();
let pinned = null; // {pane, footprint}

export function startLinking() {
  on("answered", readAnswer);
  on("text", (pane) => { readPane(pane); colour(); show(pinned); });
  on("drawn", () => { mark(); relight(); });
  on("chunk", (pane) => { collect(pane); paint(pane); markCursor(pane); relight(); });
  takePin();
  readAnswer();
  const panes = $("#panes");
  panes.addEventListener("pointerover", hover);
  panes.addEventListener("pointerleave", () => { hovered = null; show(pinned ?? pointedAt()); });
  panes.addEventListener("click", click);
  panes.addEventListener("click", ({ target }) => {
    const traced = target.closest("[data-untraced]");
    if (traced) showUntraced(traced.dataset.untraced);
  });
  panes.addEventListener("keydown", keys);
  panes.addEventListener("focusin", ({ target }) => { if (!pinned && target.matches("p[data-origins]")) show(placeOf(target)); });
  on("source-lines", showSource);
  on("source-pin", (lines) => pin(sourcePlace(lines) ?? { pane: SOURCE, footprint: EMPTY }));
  on("source-click", clicked);
  on("edited", () => { if (pinned?.clicked) unpin(); });
  // A pane that was not on the page could not be scrolled.
  on("shown", () => (pinned ? reveal(pinned.pane) : showInnermost()));
  on("unpin", unpin);
  on("played", follow);
  on("reveal", () => reveal(pinned?.pane));
  on("light", light);
}

function readAnswer() {
  const { origins, replaces } = readJson("answer");
  if (replaces) {
    model.panes.clear();
    unpin();
  }
  if (origins.length || replaces) model.setOrigins(origins);
  for (const pane of LISTINGS) {
    // What stayed from an earlier answer does not know the origins of this one.
    if (origins.length && $(`#pane-${pane}`).classList.contains("stale")) forget(pane);
    else readPane(pane);
  }
  colour();
  if (toPin && origins.length) pinKept();
  show(pinned);
  showInnermost();
}

// What is pinned, in a link

/** Of a link: a pane and the number of its line, or `origins` and those of a node, or `axis` and those of an axis. */
let toPin = null;

function takePin() {
  toPin = PIN.exec(state.view.pin ?? "");
  delete state.view.pin;
  keepInLinks(() => (pinned?.pin ? { pin: pinned.pin } : {}));
}

/** Pin what the link had pinned, once there is an answer. */
function pinKept() {
  const place = placeAt(toPin);
  toPin = null;
  if (!place || isEmpty(place.footprint)) return;
  pin(place);
  if (place.pane === SOURCE) editor.reveal(model.primary(place.footprint)); // who clicked on the line saw it
}

function placeAt([, pane, text]) {
  const numbers = text.split(" ").map(Number);
  if (pane === SOURCE) return sourcePlace(numbers);
  return pane === "origins" ? atOrigins(numbers) : pane === AXIS ? atAxis(numbers) : atLine(pane, numbers[0]);
}

const atLine = (pane, index) => ({ pane, index, footprint: model.of(pane, index), pin: `${pane}:${index}` });
const atOrigins = (ids) => ({ pane: "schedule", footprint: model.footprint(ids), pin: `origins:${ids.join(" ")}` });
const atAxis = (ids) => ({ pane: "schedule", footprint: model.axis(ids), pin: `${AXIS}:${ids.join(" ")}` });

function readPane(pane) {
  const block = $(`#links-${pane}`);
  if (block) model.setPane(pane, JSON.parse(block.textContent));
  collect(pane);
}

function forget(pane) {
  model.panes.delete(pane);
  collect(pane);
}

function collect(pane) {
  const bySet = new Map();
  const lines = model.panes.get(pane)?.lines ?? [];
  for (const line of $$(`#body-${pane} .l`)) {
    const set = lines[Number(line.dataset.i)];
    if (!bySet.has(set)) bySet.set(set, []);
    bySet.get(set).push(line);
  }
  elements.set(pane, bySet);
  watchBlocks($(`#body-${pane}`));
}

function colour() {
  model.colour(editor.text, TINTS);
  LISTINGS.forEach(paint);
  editor.tint(model.tints);
  mark();
}

/** Find the axes of the schedule, the nodes of the drawing and the rows of tables that link, and colour them. */
function mark() {
  marked = new Map();
  const faulty = new Set(readJson("answer").problems.flatMap(({ origins }) => origins));
  for (const node of $$("[data-origins]")) {
    const ids = idsOf(node);
    const footprint = node.matches("p") ? model.axis(ids) : model.footprint(ids);
    const single = node.matches("p, .node");
    setTint(node, single ? model.tintOf(footprint) : undefined);
    if (single || node.matches("tr")) marked.set(node, footprint);
    if (node.matches(".node")) node.classList.toggle("faulty", ids.some((id) => faulty.has(id)));
  }
}

function paint(pane) {
  for (const [set, lines] of elements.get(pane) ?? []) {
    const tint = model.tintOfSet(pane, set);
    for (const line of lines) setTint(line, tint);
  }
}

/** Give a node its tint instead of the one that it had; most have theirs already. */
function setTint(node, tint) {
  const own = tint ? `t${tint}` : "";
  const old = /(?:^| )(t\d)(?: |$)/.exec(node.getAttribute("class") ?? "")?.[1] ?? "";
  if (old === own) return;
  if (old) node.classList.remove(old);
  if (own) node.classList.add(own);
}

/** Lines of the source that nothing came from say nothing. */
function sourcePlace(lines) {
  const footprint = fromSource(lines);
  return LISTINGS.some((pane) => model.relatedSets(pane, footprint).size) ? { pane: SOURCE, footprint, pin: `${SOURCE}:${lines.join(" ")}` } : null;
}

function placeOf(target) {
  const line = target.closest?.(".l");
  if (line) return atLine(line.closest(".code").dataset.pane, Number(line.dataset.i));
  const primitive = target.closest?.("[data-line]");
  if (primitive) return sourcePlace([Number(primitive.dataset.line)]);
  const axis = target.closest?.("[data-origins]");
  if (axis) return (axis.matches("p") ? atAxis : atOrigins)(idsOf(axis));
  return null;
}

const idsOf = (node) => node.dataset.origins.split(" ").filter(Boolean).map(Number);

let hovered = null; // the line or axis under the pointer

function hover({ target }) {
  const inEditor = target.closest(".editor"); // which tells of its lines
  const node = inEditor ? null : target.closest(".l, [data-line], [data-origins]");
  if (!pinned && !inEditor && (node !== hovered || !node)) show(placeOf(target));
  hovered = node;
}

let theirs = null; // what the pointer is at on another page: it may have come there before it leaves this one

const pointedAt = () => (hovered ? placeOf(hovered) : theirs && placeAt(theirs));

/** Light up lines of the script, or else what the pointer is at. */
function showSource(lines) {
  if (lines.length) hovered = null;
  if (!pinned) show(sourcePlace(lines) ?? pointedAt());
}

function click(event) {
  const place = event.target.closest("button") ? null : placeOf(event.target);
  if (!place || window.getSelection().toString()) return;
  if (place.pane !== "schedule") setCursor(place.pane, place.index, false);
  pin(place);
}

/** Pin lines of the script that were clicked: until they are edited, as a click is also how that begins. */
function clicked(lines) {
  const place = sourcePlace(lines);
  if (place) pin({ ...place, clicked: true });
  else if (pinned) unpin();
}

function pin(place) {
  if (isEmpty(place.footprint)) {
    pinned = null;
    show(null);
    toast(paneOf(place.pane)?.unlinked || "Nothing was generated from this line");
    return;
  }
  pinned = place;
  show(place);
  reveal(place.pane);
  const { sources } = place.footprint;
  tell("pinned", place.pane === SOURCE ? [...sources] : sources.size ? [model.primary(place.footprint)] : []);
}

/** Go to the next line of a listing that comes from no line of the script, and say why there are such. */
function showUntraced(pane) {
  const lines = $$(`#body-${pane} .l`).filter((line) => $("span", line).textContent.trim() && isEmpty(model.of(pane, Number(line.dataset.i))));
  const from = cursors.get(pane) ?? -1;
  const next = lines.find((line) => Number(line.dataset.i) > from) ?? lines[0];
  if (!next) {
    toast("Every line comes from a line of the script");
    return;
  }
  unpin();
  goToLine(pane, Number(next.dataset.i));
  toast(`Line ${Number(next.dataset.i) + 1}. ${paneOf(pane).unlinked}`);
}

function unpin() {
  if (pinned) tell("pinned", []);
  pinned = null;
  hovered = null;
  theirs = null;
  show(null);
}

let followed = -1; // the line that the player was at

/** Light up what became of the line that the player is at, where it plays what is shown; each pane scrolls to it. */
function follow({ index, count }) {
  const loops = steppedAt("code").name;
  if (pinned || model.panes.get(loops)?.lines.length !== count) return;
  const footprint = model.of(loops, index);
  show(atLine(loops, index));
  if (index === followed) return;
  followed = index;
  scrollTo(loops, [index]);
  scrollToRelated(footprint, loops);
}

/** Light up what is lit in what has just arrived, too: the pointer may have been at its line before. */
function relight() {
  const at = PIN.exec(told);
  show(pinned ?? (at && placeAt(at)));
}

/** Light up what links to a place; null puts the lights out. */
function show(place) {
  const footprint = place?.footprint ?? EMPTY;
  const active = !isEmpty(footprint);
  editor.relate(active ? footprint.sources : new Set()); // first: it lays out the page, which has not changed yet
  dim(active);
  const now = active ? related(footprint) : new Set();
  // Most of what is lit often stays so, and costs nothing then.
  for (const node of lit) if (!now.has(node)) node.classList.remove("related");
  for (const node of now) if (!node.classList.contains("related")) node.classList.add("related");
  lit = now;
  const at = `${place?.pin ?? ""}${pinned && place === pinned ? "!" : ""}`;
  if (at !== told) tell("lit", { at: place?.pin ?? "", fixed: at.endsWith("!") });
  told = at;
}

let told = ""; // what is lit, as other pages were told

/** Light up what another page of this workspace does. */
function light({ at, fixed }) {
  theirs = PIN.exec(at);
  const place = theirs && placeAt(theirs);
  if (fixed && place && !isEmpty(place.footprint)) return pin(place);
  if (pinned) tell("pinned", []);
  pinned = null;
  // The other page may say that the pointer left it when the pointer is on a line of this one already.
  return show(place ?? (hovered && placeOf(hovered)));
}

/** The lines, axes and nodes that link to a footprint. */
function related(footprint) {
  const nodes = new Set();
  for (const pane of LISTINGS) {
    const bySet = elements.get(pane);
    for (const set of model.relatedSets(pane, footprint)) for (const line of bySet?.get(set) ?? []) nodes.add(line);
  }
  for (const [node, mine] of marked) if (meets(mine, footprint)) nodes.add(node);
  return nodes;
}

/** Scroll every other pane to the first line that links. */
function reveal(from) {
  const footprint = pinned?.footprint;
  if (!footprint) return;
  scrollToRelated(footprint, from);
  if (from !== SOURCE && footprint.sources.size) editor.reveal(model.primary(footprint));
}

function scrollToRelated(footprint, from) {
  for (const pane of LISTINGS) {
    const lines = pane === from ? [] : model.relatedLines(pane, footprint);
    if (lines.length) scrollTo(pane, lines);
  }
}

const innermostShown = new Set(); // panes that were scrolled there

const isOpen = (pane) => !$(`#pane-${pane}`).matches(".closed, .behind"); // by class: asking for its size would lay out the page

/** The innermost statement of the loops, null if none links to anything. */
function innermost(loops) {
  const depth = (line) => /^\s*/.exec($("span", line).textContent)[0].length;
  const linked = $$(`#body-${loops} .l`).filter((line) => !isEmpty(model.of(loops, Number(line.dataset.i))));
  return linked.reduce((best, line) => (best && depth(best) > depth(line) ? best : line), null);
}

/** At first, show what is pinned, or else where the work is done: the innermost loops, and what became of them. */
function showInnermost() {
  const loops = steppedAt("code").name;
  const panes = PANES.filter(({ name, listing, level }) => listing && level === "code" && !innermostShown.has(name) && isOpen(name))
    .map(({ name }) => name).filter((pane) => $(`#body-${pane}`).clientHeight > 0);
  if (!panes.length || !readJson("answer").origins.length) return;
  const deepest = pinned ? null : innermost(loops);
  const footprint = pinned?.footprint ?? (deepest && model.of(loops, Number(deepest.dataset.i)));
  if (!footprint) return;
  for (const pane of panes) {
    const related = model.relatedLines(pane, footprint);
    if (!related.length) continue;
    innermostShown.add(pane);
    if (pinned) scrollTo(pane, pane === pinned.pane ? [pinned.index] : related);
    else if (pane === loops) showNest(deepest);
    else scrollTo(pane, related.slice(related.length >> 1)); // its first lines load what the others compute with
  }
}

/** Show a statement of the loops with as much of what is around it as there is room for: the function, the loops, some of them. */
function showNest(statement) {
  const { name } = steppedAt("code");
  const body = $(`#body-${name}`);
  if (body.scrollTop) return;
  const last = topOf(body, Number(statement.dataset.i)) + statement.offsetHeight + rowHeight(body);
  const starts = [/^\s*def /, /^\s*for /].map((begins) => $$(".l", body).find((line) => begins.test($("span", line).textContent)));
  const tops = starts.filter(Boolean).map(({ dataset }) => topOf(body, Number(dataset.i)));
  body.scrollTop = last <= body.clientHeight ? 0 : tops.find((top) => last - top <= body.clientHeight) ?? last - body.clientHeight;
}

// Keyboard, inside a listing

const MOVES = {
  ArrowDown: () => 1, ArrowUp: () => -1, PageDown: (rows) => rows, PageUp: (rows) => -rows,
  Home: () => -Infinity, End: () => Infinity,
};

function keys(event) {
  if (event.key === "Enter" && event.target.matches("p[data-origins]")) {
    event.preventDefault();
    pin(placeOf(event.target));
    return;
  }
  const body = event.target.closest(".code");
  if (!body || event.target !== body || event.ctrlKey || event.metaKey || event.altKey) return;
  const pane = body.dataset.pane;
  const count = model.panes.get(pane)?.lines.length ?? 0;
  if (!count) return;
  const move = MOVES[event.key];
  if (move) {
    event.preventDefault();
    const rows = Math.floor(body.clientHeight / rowHeight(body)) - 1;
    const from = cursors.get(pane) ?? -1;
    setCursor(pane, Math.min(count - 1, Math.max(0, from + move(rows))), true);
  } else if (event.key === "Enter" && cursors.has(pane)) {
    event.preventDefault();
    pin(atLine(pane, cursors.get(pane)));
  }
}

/** Put the cursor of a listing at a line, as the arrow keys would. */
export const goToLine = (pane, index) => setCursor(pane, index, true);

/** Mark the line that the cursor of a listing is at, once it has been fetched. */
function markCursor(pane) {
  const line = $(`#body-${pane} .l[data-i="${cursors.get(pane)}"]`);
  line?.classList.add("cursor");
  return line;
}

function setCursor(pane, index, byKey) {
  $(`#body-${pane} .l.cursor`)?.classList.remove("cursor");
  cursors.set(pane, index);
  const line = markCursor(pane);
  if (!byKey) return;
  line?.closest("details")?.setAttribute("open", "");
  scrollTo(pane, [index]);
  const place = atLine(pane, index);
  if (!pinned) show(place);
  announce(describe(index, line, place.footprint));
  tell("cursor", { pane, line });
}

function describe(index, line, footprint) {
  const text = line ? $("span", line).textContent.trim() : "";
  const sources = [...footprint.sources].sort((a, b) => a - b);
  const link = sources.length ? `from source line ${sources.join(", ")}` : "links to nothing";
  return `${index + 1}: ${text || "blank"}; ${link}`;
}
