// Panes that can be resized, closed and reopened, and shown one at a time where there is little room.
import Split from "../vendor/split.js";
import { $, $$, element, narrow, readJson, toast } from "./dom.js";
import { recall, remember } from "./memory.js";
import { DOCKS, PANES, paneOf } from "./panes.js";
import { keepInLinks, on, state, tell } from "./state.js";

const inLesson = document.body.classList.contains("teaching");
/** What is divided: the page into columns, a column into the docks of a level, a dock into its panes. */
const SPLITS = [
  inLesson
    ? { name: "lesson-columns", parts: ["#left", "#right"], direction: "horizontal", sizes: [42, 58], least: 180 }
    : { name: "columns", parts: ["#left", "#right"], direction: "horizontal", sizes: [24, 76], least: 180 },
  ...[["rows", "code"], ["graph-rows", "graph"]].map(([name, level]) => {
    const docks = DOCKS.filter((dock) => dock.level === level);
    return { name, parts: docks.map((dock) => `#${dock.name}`), direction: "vertical", sizes: docks.map(({ size }) => size), least: 60 };
  }),
  ...DOCKS.map(({ name, direction, minimum }) => {
    const panes = PANES.filter(({ dock }) => dock === name);
    return { name, parts: panes.map((pane) => `#pane-${pane.name}`), direction, sizes: panes.map(({ size }) => size), least: minimum };
  }),
];
const KEYS = { horizontal: { ArrowLeft: -2, ArrowRight: 2 }, vertical: { ArrowUp: -2, ArrowDown: 2 } };
const reading = document.body.classList.contains("reading");
const linkedSizes = new Map(); // name of a split -> sizes of its parts
const divisions = new Map(); // name of a split -> the instance that divides its open parts

const NAMES = PANES.map(({ name }) => name);
/** Rows, then the columns that they stand in. */
const BOXES = [...new Set([...DOCKS.filter((dock) => dock.level).map(({ name }) => `#${name}`), "#left", "#right"])];

export function startLayout() {
  takeSizes();
  // A link says which panes it shows; else they are as this browser left them.
  for (const name of ["closed", "opened"]) state.view[name] ??= state.link ? "" : recall(name) ?? "";
  if (reading) {
    // Where nobody can measure, an empty benchmark takes room for nothing.
    for (const { name } of PANES.filter(({ name: pane, measured }) => measured && !closed().has(pane))) {
      state.view.closed += ` ${name}`;
      on("answered", ({ measurements }) => { if (measurements.length) setOpen(name, true); });
    }
  }
  arrange();
  makeMenu();
  makeTabs();
  offer();
  on("answered", ({ machine: now }) => { if (now !== machine && (now === "device" || !$("#state.failed"))) setMachine(now); });
  showPane(firstPane());
  document.addEventListener("click", ({ target }) => {
    const heading = target.closest(".heading");
    if (heading) enlarge(heading.dataset.enlarge);
    const close = target.closest("[data-close]");
    if (close) setOpen(close.dataset.close, false);
    const open = target.closest("[data-open]");
    if (open) focusPane(open.dataset.open);
  });
}

// Closing and reopening

const listed = (name) => new Set(state.view[name].split(" ").filter((pane) => NAMES.includes(pane)));

/** The panes that are closed: by the visitor, or from the start and not opened since. */
function closed() {
  const opened = listed("opened");
  return new Set([...listed("closed"), ...PANES.filter(({ name, open }) => !open && !opened.has(name)).map(({ name }) => name)]);
}

const level = () => $("#right").dataset.level;
let machine = readJson("answer").machine; // what runs the function that is shown
const absent = ({ machine: own }) => own && own !== machine;
const levelOf = (pane) => paneOf(pane).level || level();
const hasGraph = () => Boolean($("#strip .group.graph"));

/** Show the panes of a level.
 * @param {"graph" | "code"} name */
export function setLevel(name) {
  const alone = $(".pane.alone");
  if (alone && levelOf(alone.dataset.pane) !== name) enlarge(alone.dataset.pane);
  $("#right").dataset.level = name;
  arrange();
  offer();
  tell("shown");
}

/** Show the panes of a CPU's code, or those of kernels. */
function setMachine(name) {
  machine = name;
  arrange();
  offer();
  tell("shown");
}

/** Tabs and boxes are offered for panes that may have something to show. */
function offer() {
  for (const pane of PANES.filter(({ level: own, machine: of }) => own === "graph" || of)) {
    const hidden = (pane.level === "graph" && !hasGraph()) || absent(pane);
    $(`#tabs [data-tab="${pane.name}"]`).hidden = hidden;
    $(`#panes-form [name="${pane.name}"]`).parentElement.hidden = hidden;
  }
}

/** Close a pane, or open it where it was; the last one stays open.
 * @param {string} pane
 * @param {boolean} open */
export function setOpen(pane, open) {
  const now = closed();
  if (open) now.delete(pane);
  else now.add(pane);
  if (NAMES.every((other) => now.has(other) || levelOf(other) !== level() || absent(paneOf(other)))) {
    toast("One pane stays open");
    menu();
    return;
  }
  if (!open && $(`#pane-${pane}`).classList.contains("alone")) enlarge(pane);
  const atFirst = new Set(PANES.filter((other) => other.open).map(({ name }) => name));
  state.view.closed = NAMES.filter((name) => now.has(name) && atFirst.has(name)).join(" ");
  state.view.opened = NAMES.filter((name) => !now.has(name) && !atFirst.has(name)).join(" ");
  if (!reading && !inLesson) for (const name of ["closed", "opened"]) remember(name, state.view[name]);
  arrange();
  menu();
  tell("shown");
}

/** Give the room to the panes that are open. */
function arrange() {
  const shut = closed();
  for (const pane of NAMES) $(`#pane-${pane}`).classList.toggle("closed", shut.has(pane) || levelOf(pane) !== level() || absent(paneOf(pane)));
  // A row or column without an open pane takes no room either.
  for (const box of BOXES) $(box).classList.toggle("closed", !$(".pane:not(.closed)", $(box)));
  SPLITS.forEach(split);
}

/** The boxes of the "Panes" menu say what is open. */
function menu() {
  const shut = closed();
  for (const box of $$("#panes-form input")) box.checked = !shut.has(box.name);
}

function makeMenu() {
  for (const { name, title } of PANES) {
    const box = element("input", { type: "checkbox", name });
    box.addEventListener("change", () => setOpen(name, box.checked));
    $("#panes-form").append(element("label", {}, box, title));
  }
  menu();
}

/** The sizes of a split's parts: as the link has them that was opened, until they are changed, else as this browser has. */
const sizesOf = (name) => linkedSizes.get(name) ?? recall(`layout.${name}`) ?? "";

/** Take the sizes out of the view that a link holds, and let links keep those of now. */
function takeSizes() {
  for (const { name } of SPLITS) {
    const sizes = state.view[`layout.${name}`];
    if (typeof sizes === "string") linkedSizes.set(name, sizes);
    delete state.view[`layout.${name}`];
  }
  keepInLinks(() => Object.fromEntries(SPLITS.map(({ name }) => [`layout.${name}`, sizesOf(name)]).filter(([, sizes]) => sizes)));
}

/** Divide a row or column among its open parts, in the proportions that they had when all were open. */
function split({ name, parts, direction, sizes, least }) {
  divisions.get(name)?.destroy();
  divisions.delete(name);
  const stored = sizesOf(name).split(" ").map(Number).filter((size) => size > 0);
  const all = stored.length === parts.length ? stored : [...sizes];
  const open = parts.map((_, index) => index).filter((index) => !$(parts[index]).classList.contains("closed"));
  const share = open.reduce((sum, index) => sum + all[index], 0);
  if (open.length === 1) Object.assign($(parts[open[0]]).style, { flexBasis: "0px", flexGrow: "1", flexShrink: "1" });
  if (open.length < 2) return;
  const keep = (now) => {
    open.forEach((index, place) => { all[index] = (now[place] * share) / 100; });
    linkedSizes.delete(name);
    remember(`layout.${name}`, all.map((size) => size.toFixed(2)).join(" "));
  };
  const percentages = (values) => {
    const sum = open.reduce((total, index) => total + values[index], 0);
    return open.map((index) => (100 * values[index]) / sum);
  };
  const shown = open.map((index) => parts[index]);
  const divided = Split(shown, {
    direction, minSize: least, gutterSize: 1, snapOffset: 0, sizes: percentages(all),
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
    bar.addEventListener("dblclick", () => { divided.setSizes(percentages(sizes)); keep(percentages(sizes)); show(); });
    show();
  });
}

function gutter(name, direction, before, after) {
  const named = (selector) => $(selector).dataset.pane ?? selector.slice(1);
  return element("div", {
    class: `gutter gutter-${direction}`, "data-split": name, role: "separator", tabindex: "0",
    "aria-orientation": direction === "horizontal" ? "vertical" : "horizontal", "aria-valuemin": "5", "aria-valuemax": "95",
    "aria-valuenow": "50", "aria-label": `Between ${named(before)} and ${named(after)}`,
  });
}

// One at a time

/** Show a pane where one shows at a time.
 * @param {string} pane */
function showPane(pane) {
  if (narrow.matches && levelOf(pane) !== level()) setLevel(levelOf(pane));
  for (const section of $$(".pane")) section.classList.toggle("shown", section.dataset.pane === pane);
  for (const tab of $$("#tabs button")) tab.setAttribute("aria-current", String(tab.dataset.tab === pane));
  remember("tab", pane);
  tell("shown");
}

/** Maximise a pane, or restore all of them. */
export function enlarge(pane) {
  const section = $(`#pane-${pane}`);
  const alone = !section.classList.contains("alone");
  for (const other of $$(".pane")) other.classList.toggle("alone", alone && other === section);
  for (const heading of $$(".heading")) heading.setAttribute("aria-pressed", String(alone && heading.dataset.enlarge === pane));
  $("#panes").classList.toggle("enlarged", alone);
}

export function focusPane(pane) {
  const alone = $(".pane.alone");
  if (alone && alone.dataset.pane !== pane) enlarge(pane);
  if (levelOf(pane) !== level()) {
    if (levelOf(pane) === "graph" && !hasGraph()) return;
    setLevel(levelOf(pane));
  }
  if (absent(paneOf(pane))) return;
  if (!narrow.matches && closed().has(pane)) setOpen(pane, true);
  showPane(pane);
  $(`#pane-${pane}`).querySelector(".cm-content, [tabindex='0']")?.focus();
}

function makeTabs() {
  for (const { name, title } of PANES) {
    const button = element("button", { type: "button", "data-tab": name }, title);
    button.addEventListener("click", () => showPane(name));
    $("#tabs").append(button);
  }
}

/** The pane that a narrow page shows first: the one that was shown last, if it is offered. */
function firstPane() {
  const last = paneOf(recall("tab"));
  return narrow.matches && last && (last.level !== "graph" || hasGraph()) ? last.name : PANES[0].name;
}
