// Where panes stand: their rows and columns, which can be resized and rearranged, in links and after a reload.
import Split from "../vendor/split.js";
import { boxesOf, groupOf, panesIn, read, stacked, write } from "./arrangement.js";
import { $, $$, element } from "./dom.js";
import { keepHere, readHere } from "./draft.js";
import { recall, remember } from "./memory.js";
import { alone, makeBar, showTabs } from "./pane-tabs.js";
import { ARRANGEMENTS, DOCKS, LISTINGS, PANES, SMALL_GROUPS, steppedAt } from "./panes.js";
import { keepInLinks, state, tell } from "./state.js";

const inLesson = document.body.classList.contains("teaching");
const challenged = Boolean($("#challenge"));
const reading = document.body.classList.contains("reading");
const ROOT = "columns";
const STORED = inLesson ? "docking.lesson" : "docking";
const KEYS = { horizontal: { ArrowLeft: -2, ArrowRight: 2 }, vertical: { ArrowUp: -2, ArrowDown: 2 } };
const LEAST = { horizontal: 120, vertical: 60 }; // pixels of a pane
const LEAST_COLUMN = 180;

/** The page in columns, the column on the right in docks, a dock in its panes. */
function usualArrangement() {
  const dockBox = ({ name, direction }) => {
    const panes = PANES.filter(({ dock }) => dock === name);
    return { name, direction, parts: panes.map((pane) => pane.name), sizes: panes.map(({ size }) => size) };
  };
  const docks = DOCKS.filter(({ level: own }) => own);
  const right = { name: "right", direction: "vertical", parts: docks.map(dockBox), sizes: docks.map(({ size }) => size) };
  const left = dockBox(DOCKS.find(({ level: own }) => !own));
  return { name: ROOT, direction: "horizontal", parts: [left, right], sizes: inLesson ? [42, 58] : [24, 76] };
}

// Arrangements for what a script is, and one's own

const SMALL = 1400; // pixels of a page that has no room for three texts beside the script
const CROWDED = 1900; // pixels of one that has not room for two of them beside a challenge and the script
export const OWN = "own";

/** The arrangement for a kind of script.
 * @param {string} kind
 * @returns {import("./arrangement.js").Box} */
function arrangementFor(kind) {
  const small = innerWidth < SMALL;
  const { groups, shares } = ARRANGEMENTS[kind];
  const made = usualArrangement();
  const right = boxesOf(made).find(({ name }) => name === "right");
  if (small) right.sizes = right.parts.map(({ name }, index) => shares[name] ?? right.sizes[index]);
  return (challenged && innerWidth < CROWDED ? oneText() : small ? SMALL_GROUPS : groups).reduce(grouped, made);
}

/** The groups of small pages, with the loops among the other texts. */
function oneText() {
  const [texts, ...others] = SMALL_GROUPS;
  const loops = steppedAt("code").name;
  return [{ panes: [loops, ...texts.panes], front: loops }, ...others];
}

function grouped(root, { panes, front }) {
  const made = panes.slice(1).reduce((before, pane, index) => stacked(before, pane, panes[index]), root);
  groupOf(made, front).front = front;
  return made;
}

const usual = usualArrangement();
const leastOf = new Map(DOCKS.map(({ name, minimum }) => [name, minimum]));
const divisions = new Map(); // name of a box -> the instance that divides its open parts
/** @type {import("./arrangement.js").Box} */
let arrangement = usualArrangement();
let kind = "cpu"; // what the script is
let chosen = ""; // which arrangement the visitor chose; empty for that of the script's kind
let own = null; // the visitor's arrangement, as text
const used = new Map(); // kind -> its arrangement on this page, with the tabs that are in front and the panes that were opened

const isPane = (part) => typeof part === "string";
const nameOf = (part) => (isPane(part) ? part : part.name);
const elementOf = (part) => $(isPane(part) ? `#pane-${part}` : part.name === ROOT ? "#panes" : `#${part.name}`);
const parentOf = (box) => boxesOf(arrangement).find(({ parts }) => parts.includes(box));

/** How panes are arranged. */
export const current = () => arrangement;

/** Arrange panes otherwise, and remember it as the visitor's own arrangement.
 * @param {import("./arrangement.js").Box} arranged */
export function rearrange(arranged) {
  show(arranged);
  save();
}

/** Arrange panes so that one that was opened has room; this is no arrangement of the visitor's, unless it was before.
 * @param {import("./arrangement.js").Box} arranged */
export function adapt(arranged) {
  if (chosen === OWN) return rearrange(arranged);
  used.set(chosen || kind, arranged);
  return show(arranged);
}

function show(arranged) {
  arrangement = arranged;
  place();
  divide();
  tell("shown");
}

/** Which arrangement is in force: a kind, `OWN`, or empty for that of the script's kind; and whether there is one's own. */
export const chosenArrangement = () => ({ chosen, hasOwn: own !== null });

/** Take an arrangement; another one than the visitor's own comes with the next `suit`.
 * @param {string} name */
export function chooseArrangement(name) {
  chosen = name;
  used.clear();
  keepChoice();
  if (name !== OWN) return;
  arrangement = read(own, usual);
  place();
}

/** Arrange panes as suits what the script is, unless the visitor chose otherwise.
 * @param {string} what
 * @returns {boolean} whether panes stand as in no answer before */
export function suit(what) {
  kind = what;
  if (chosen === OWN) return false;
  const fresh = !used.has(chosen || kind);
  if (arrangement === usualNow()) return false;
  arrangement = usualNow();
  place();
  return fresh;
}

/** The arrangement for what was chosen, or else for what the script is, as it was left on this page. */
function usualNow() {
  const name = chosen || kind;
  if (!used.has(name)) used.set(name, arrangementFor(name));
  return used.get(name);
}

function keepChoice() {
  if (reading) return;
  for (const keep of [remember, keepHere]) keep(`${STORED}.chosen`, chosen);
}

function save() {
  if (reading) return;
  own = write(arrangement);
  chosen = OWN;
  used.clear(); // what was resized was one of them
  for (const keep of [remember, keepHere]) keep(STORED, own);
  keepChoice();
}

/** Bring a pane to the front of its group.
 * @param {string} pane */
export function bringForward(pane) {
  const group = groupOf(arrangement, pane);
  if (!group || elementOf(pane).classList.contains("closed") || frontOf(group) === pane) return;
  group.front = pane;
  split(group);
  if (chosen === OWN) save();
  tell("shown");
}

const isOpen = (pane) => !elementOf(pane).classList.contains("closed");
const frontOf = ({ parts, front }) => (front && isOpen(front) ? front : parts.find(isOpen));

/** Take the arrangement out of the view that a link holds, else the one that this browser remembers; links keep that of now. */
export function takeArrangement() {
  const linked = state.view.docking;
  delete state.view.docking;
  const sizes = takeOldSizes(state.view);
  own = readHere(STORED) ?? recall(STORED);
  const text = readHere(STORED) ?? (typeof linked === "string" ? linked : state.link ? null : own);
  const theirs = text === null ? null : read(text, usual);
  if (own !== null && !read(own, usual)) own = null;
  chosen = readHere(`${STORED}.chosen`) ?? (state.link || typeof linked === "string" ? OWN : recall(`${STORED}.chosen`) ?? OWN);
  if (chosen === OWN) chosen = theirs || sizes.size ? OWN : "";
  else if (!(chosen in ARRANGEMENTS)) chosen = "";
  if (theirs) arrangement = theirs;
  else if (sizes.size) arrangement = usualArrangement();
  sizes.forEach((size, name) => resize(name, size));
  place();
  keepInLinks(() => (write(arrangement) === write(arrangementFor(kind)) ? {} : { docking: write(arrangement) }));
}

/** Links that were made before panes could be moved have the sizes of each row and column. */
function takeOldSizes(view) {
  const sizes = new Map();
  for (const name of Object.keys(view).filter((key) => key.startsWith("layout."))) {
    const numbers = String(view[name]).split(" ").map(Number);
    if (numbers.every((size) => size > 0)) sizes.set(name.slice("layout.".length), numbers);
    delete view[name];
  }
  return sizes;
}

/** What the rows of each level were called in old links. */
const OLD_ROWS = { rows: "code", "graph-rows": "graph" };

function resize(name, sizes) {
  const right = boxesOf(arrangement).find((box) => box.name === "right");
  const docks = DOCKS.filter(({ level }) => level);
  const of = OLD_ROWS[name] ? docks.filter(({ level }) => level === OLD_ROWS[name]) : [];
  const box = boxesOf(arrangement).find((other) => other.name === name.replace("lesson-", ""));
  if (of.length === sizes.length) of.forEach((dock, index) => { right.sizes[docks.indexOf(dock)] = sizes[index]; });
  else if (box?.sizes.length === sizes.length) box.sizes = sizes;
}

/** Put the elements where the arrangement has them; one that moves stays scrolled as it was. */
function place() {
  for (const division of divisions.values()) division.destroy();
  divisions.clear();
  const scrolled = $$("#panes :is(.code, .scroll, .cm-scroller)").map((node) => [node, node.scrollTop, node.scrollLeft]);
  const before = $$("#panes .box");
  for (const box of boxesOf(arrangement)) {
    const own = elementOf(box) ?? element("div", { id: box.name, class: "box" });
    own.classList.toggle("tabbed", box.direction === "tabs");
    if (box.direction !== "tabs") {
      own.classList.remove("grouped");
      $(":scope > .pane-tabs", own)?.remove();
    }
    own.classList.toggle("row", box.direction === "horizontal");
    own.classList.toggle("column", box.direction === "vertical");
    own.classList.toggle("of-texts", box.direction === "horizontal" && box.parts.some((part) => LISTINGS.includes(part)));
    if (box.name === ROOT) continue;
    const parent = elementOf(parentOf(box));
    if (own.parentElement !== parent) parent.append(own);
  }
  for (const box of boxesOf(arrangement)) {
    const own = elementOf(box);
    const parts = box.parts.map(elementOf);
    if (box.direction === "tabs") parts.unshift($(":scope > .pane-tabs", own) ?? makeBar());
    if (parts.some((part, index) => own.children[index] !== part)) own.append(...parts);
  }
  for (const pane of panesIn(arrangement)) if (!groupOf(arrangement, pane)) alone(elementOf(pane));
  const names = new Set(boxesOf(arrangement).map(({ name }) => name));
  for (const old of before) if (!names.has(old.id)) old.remove();
  for (const [node, top, left] of scrolled) Object.assign(node, { scrollTop: top, scrollLeft: left });
}

/** Give the room to the panes that are open; a row or column without one takes none. */
export function divide() {
  const focused = document.activeElement?.matches(".gutter") && document.activeElement.getAttribute("aria-label");
  for (const box of boxesOf(arrangement)) if (box.name !== ROOT) elementOf(box).classList.toggle("closed", !panesIn(box).some(isOpen));
  boxesOf(arrangement).reverse().forEach(split); // the innermost first: dividers are called after the panes that show
  if (focused) $(`.gutter[aria-label="${focused}"]`)?.focus(); // dividers are made anew
}

/** Divide a row or column among its open parts, in the proportions that they had when all were open; a group shows one. */
function split(box) {
  const { name, direction, parts, sizes } = box;
  if (direction === "tabs") {
    for (const pane of parts) Object.assign(elementOf(pane).style, { flexBasis: "0px", flexGrow: "1", flexShrink: "1" });
    showTabs(elementOf(box), parts, parts.filter(isOpen), frontOf(box));
    return;
  }
  divisions.get(name)?.destroy();
  divisions.delete(name);
  const elements = parts.map(elementOf);
  const open = parts.map((_, index) => index).filter((index) => !elements[index].classList.contains("closed"));
  const share = open.reduce((sum, index) => sum + sizes[index], 0);
  if (open.length === 1) Object.assign(elements[open[0]].style, { flexBasis: "0px", flexGrow: "1", flexShrink: "1" });
  if (open.length < 2) return;
  const keep = (now) => {
    open.forEach((index, order) => { sizes[index] = (now[order] * share) / 100; });
    save();
  };
  const percentages = (values) => {
    const sum = open.reduce((total, index) => total + values[index], 0);
    return open.map((index) => (100 * values[index]) / sum);
  };
  const usualBox = boxesOf(arrangementFor(kind)).find((box) => box.name === name);
  const usualSizes = String(usualBox?.parts.map(nameOf)) === String(parts.map(nameOf)) ? usualBox.sizes : parts.map(() => 1);
  const shown = open.map((index) => elements[index]);
  const divided = Split(shown, {
    direction, minSize: leastOf.get(name) ?? (name === ROOT ? LEAST_COLUMN : LEAST[direction]), gutterSize: 1, snapOffset: 0, sizes: percentages(sizes),
    elementStyle: (dimension, size) => ({ "flex-basis": "0px", "flex-grow": size, "flex-shrink": 1 }),
    gutterStyle: () => ({ "flex-basis": "1px" }),
    gutter: (index) => gutter(name, direction, shown[index - 1], shown[index]),
    onDragEnd: keep,
  });
  divisions.set(name, divided);
  $$(`.gutter[data-split="${name}"]`).forEach((bar, index) => {
    const show = () => bar.setAttribute("aria-valuenow", String(Math.round(divided.getSizes()[index])));
    bar.addEventListener("keydown", (event) => {
      const change = KEYS[direction][event.key];
      if (!change) return;
      event.preventDefault();
      const now = divided.getSizes();
      if (now[index] + change < 5 || now[index + 1] - change < 5) return;
      now[index] += change;
      now[index + 1] -= change;
      divided.setSizes(now);
      keep(now);
      show();
    });
    bar.addEventListener("dblclick", () => { divided.setSizes(percentages(usualSizes)); keep(percentages(usualSizes)); show(); });
    show();
  });
}

function gutter(name, direction, before, after) {
  const named = (part) => part.dataset.pane ?? (part.matches(".grouped") ? $(".pane:not(.behind, .closed)", part).dataset.pane : part.id);
  return element("div", {
    class: `gutter gutter-${direction}`, "data-split": name, role: "separator", tabindex: "0",
    "aria-orientation": direction === "horizontal" ? "vertical" : "horizontal", "aria-valuemin": "5", "aria-valuemax": "95",
    "aria-valuenow": "50", "aria-label": `Between ${named(before)} and ${named(after)}`,
  });
}
