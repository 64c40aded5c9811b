// Panes that can be resized, closed and reopened, and shown one at a time where there is little room.
import Split from "../vendor/split.js";
import { $, $$, element, narrow, toast } from "./dom.js";
import { recall, remember } from "./memory.js";
import { on, state, tell } from "./state.js";

const SPLITS = [
  { name: "columns", parts: ["#left", "#right"], direction: "horizontal", sizes: [24, 76], least: 180 },
  { name: "left", parts: ["#pane-source", "#pane-console"], direction: "vertical", sizes: [78, 22], least: 60 },
  { name: "rows", parts: ["#upper", "#lower"], direction: "vertical", sizes: [68, 32], least: 60 },
  { name: "graph-rows", parts: ["#graph-upper", "#graph-lower"], direction: "vertical", sizes: [72, 28], least: 60 },
  { name: "graph-upper", parts: ["#pane-graph", "#pane-drawing"], direction: "horizontal", sizes: [50, 50], least: 120 },
  { name: "upper", parts: ["#pane-loops", "#pane-llvm", "#pane-asm"], direction: "horizontal", sizes: [37, 33, 30], least: 90 },
  { name: "lower", parts: ["#pane-bench", "#pane-schedule"], direction: "horizontal", sizes: [66, 34], least: 120 },
];
const KEYS = { horizontal: { ArrowLeft: -2, ArrowRight: 2 }, vertical: { ArrowUp: -2, ArrowDown: 2 } };
const reading = document.body.classList.contains("reading");
const made = new Map(); // name of a split -> what divides its open parts

export const ORDER = ["source", "loops", "llvm", "asm", "bench", "schedule", "console", "graph", "drawing", "kernels"];
/** Panes that show a graph, or the code of one of its kernels; the others are there at both levels. */
const LEVELS = { graph: ["graph", "drawing", "kernels"], code: ["loops", "llvm", "asm", "bench", "schedule"] };
const BOXES = ["#upper", "#lower", "#graph-upper", "#graph-lower", "#left", "#right"];

export function startLayout() {
  // A link says which panes it shows; else they are as this browser left them.
  state.view.closed ??= state.link ? "" : recall("closed") ?? "";
  if (reading && !closed().has("bench")) {
    // Where nobody can measure, an empty benchmark takes room for nothing.
    state.view.closed += " bench";
    on("answered", ({ measurements }) => { if (measurements.length) setOpen("bench", true); });
  }
  arrange();
  tabs();
  makeMenu();
  offer();
  document.addEventListener("click", ({ target }) => {
    const heading = target.closest(".heading");
    if (heading) enlarge(heading.dataset.enlarge);
    const close = target.closest("[data-close]");
    if (close) setOpen(close.dataset.close, false);
  });
}

// Closing and reopening

const closed = () => new Set(state.view.closed.split(" ").filter((pane) => ORDER.includes(pane)));

const level = () => $("#right").dataset.level;
const levelOf = (pane) => Object.keys(LEVELS).find((name) => LEVELS[name].includes(pane)) ?? level();
const hasGraph = () => Boolean($("#strip .group.graph"));

/** Show the panes of a level: "graph" or "code". */
export function setLevel(name) {
  const alone = $(".pane.alone");
  if (alone && levelOf(alone.dataset.pane) !== name) enlarge(alone.dataset.pane);
  $("#right").dataset.level = name;
  arrange();
  offer();
  tell("shown");
}

/** Tabs and boxes are offered for panes that may have something to show. */
function offer() {
  for (const pane of LEVELS.graph) {
    $(`#tabs [data-tab="${pane}"]`).hidden = !hasGraph();
    $(`#panes-form [name="${pane}"]`).parentElement.hidden = !hasGraph();
  }
}

/** Close a pane, or open it where it was; the last one stays. */
export function setOpen(pane, open) {
  const now = closed();
  if (open) now.delete(pane);
  else now.add(pane);
  if (ORDER.every((other) => now.has(other) || levelOf(other) !== level())) {
    toast("One pane stays open");
    menu();
    return;
  }
  if (!open && $(`#pane-${pane}`).classList.contains("alone")) enlarge(pane);
  state.view.closed = ORDER.filter((name) => now.has(name)).join(" ");
  if (!reading) remember("closed", state.view.closed);
  arrange();
  menu();
  tell("shown");
}

/** Give the room to the panes that are open. */
function arrange() {
  const shut = closed();
  for (const pane of ORDER) $(`#pane-${pane}`).classList.toggle("closed", shut.has(pane) || levelOf(pane) !== level());
  // From the inside out: a row or column without an open pane takes no room either.
  for (const box of BOXES) $(box).classList.toggle("closed", !$(".pane:not(.closed)", $(box)));
  SPLITS.forEach(split);
}

/** The boxes of the "Panes" menu say what is open. */
function menu() {
  const shut = closed();
  for (const box of $$("#panes-form input")) box.checked = !shut.has(box.name);
}

function makeMenu() {
  for (const pane of ORDER) {
    const box = element("input", { type: "checkbox", name: pane });
    box.addEventListener("change", () => setOpen(pane, box.checked));
    $("#panes-form").append(element("label", {}, box, titleOf(pane)));
  }
  menu();
}

/** Divide a row or column among its open parts, in the proportions that they had when all were open. */
function split({ name, parts, direction, sizes, least }) {
  made.get(name)?.destroy();
  made.delete(name);
  const kept = (recall(`layout.${name}`) ?? "").split(" ").map(Number).filter((size) => size > 0);
  const all = kept.length === parts.length ? kept : [...sizes];
  const open = parts.map((_, index) => index).filter((index) => !$(parts[index]).classList.contains("closed"));
  const share = open.reduce((sum, index) => sum + all[index], 0);
  if (open.length === 1) Object.assign($(parts[open[0]]).style, { flexBasis: "0px", flexGrow: "1", flexShrink: "1" });
  if (open.length < 2) return;
  const keep = (now) => {
    open.forEach((index, place) => { all[index] = (now[place] * share) / 100; });
    remember(`layout.${name}`, all.map((size) => size.toFixed(2)).join(" "));
  };
  const whole = (values) => {
    const sum = open.reduce((total, index) => total + values[index], 0);
    return open.map((index) => (100 * values[index]) / sum);
  };
  const shown = open.map((index) => parts[index]);
  const divided = Split(shown, {
    direction, minSize: least, gutterSize: 1, snapOffset: 0, sizes: whole(all),
    elementStyle: (dimension, size) => ({ "flex-basis": "0px", "flex-grow": size, "flex-shrink": 1 }),
    gutterStyle: () => ({ "flex-basis": "1px" }),
    gutter: (index) => gutter(name, direction, shown[index - 1], shown[index]),
    onDragEnd: keep,
  });
  made.set(name, divided);
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
    bar.addEventListener("dblclick", () => { divided.setSizes(whole(sizes)); keep(whole(sizes)); show(); });
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

/** Bring a pane forward and put the focus into it. */
function showPane(pane) {
  if (narrow.matches && levelOf(pane) !== level()) setLevel(levelOf(pane));
  for (const section of $$(".pane")) section.classList.toggle("shown", section.dataset.pane === pane);
  for (const tab of $$("#tabs button")) tab.setAttribute("aria-current", String(tab.dataset.tab === pane));
  remember("tab", pane);
  tell("shown");
}

/** Let a pane have the whole room, or go back to all of them. */
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
  if (!narrow.matches && closed().has(pane)) setOpen(pane, true);
  showPane(pane);
  $(`#pane-${pane}`).querySelector(".cm-content, [tabindex='0']")?.focus();
}

const titleOf = (pane) => (pane === "source" ? "Source" : $(`#title-${pane}`).textContent);

function tabs() {
  for (const pane of ORDER) {
    const button = element("button", { type: "button", "data-tab": pane }, titleOf(pane));
    button.addEventListener("click", () => showPane(pane));
    $("#tabs").append(button);
  }
  showPane(narrow.matches && ORDER.includes(recall("tab")) ? recall("tab") : "source");
}
