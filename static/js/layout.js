// Panes that can be resized, and shown one at a time where there is little room.
import Split from "../vendor/split.js";
import { $, $$, element, narrow } from "./dom.js";
import { recall, remember } from "./memory.js";
import { tell } from "./state.js";

const SPLITS = [
  { name: "columns", parts: ["#left", "#right"], direction: "horizontal", sizes: [24, 76], least: 180 },
  { name: "left", parts: ["#pane-source", "#pane-console"], direction: "vertical", sizes: [78, 22], least: 60 },
  { name: "rows", parts: ["#upper", "#lower"], direction: "vertical", sizes: [68, 32], least: 60 },
  { name: "upper", parts: ["#pane-loops", "#pane-llvm", "#pane-asm"], direction: "horizontal", sizes: [37, 33, 30], least: 90 },
  { name: "lower", parts: ["#pane-bench", "#pane-schedule"], direction: "horizontal", sizes: [66, 34], least: 120 },
];
const KEYS = { horizontal: { ArrowLeft: -2, ArrowRight: 2 }, vertical: { ArrowUp: -2, ArrowDown: 2 } };

export function startLayout() {
  SPLITS.forEach(split);
  tabs();
  document.addEventListener("click", ({ target }) => {
    const heading = target.closest(".heading");
    if (heading) enlarge(heading.dataset.enlarge);
  });
}

function split({ name, parts, direction, sizes, least }) {
  const keep = (now) => remember(`layout.${name}`, now.map((size) => size.toFixed(2)).join(" "));
  const kept = (recall(`layout.${name}`) ?? "").split(" ").map(Number).filter((size) => size > 0);
  const made = Split(parts, {
    direction, minSize: least, gutterSize: 1, snapOffset: 0,
    sizes: kept.length === parts.length ? kept : sizes,
    elementStyle: (dimension, size) => ({ "flex-basis": "0px", "flex-grow": size, "flex-shrink": 1 }),
    gutterStyle: () => ({ "flex-basis": "1px" }),
    gutter: (index) => gutter(name, direction, parts[index - 1], parts[index]),
    onDragEnd: keep,
  });
  $$(`.gutter[data-split="${name}"]`).forEach((bar, index) => {
    const show = () => bar.setAttribute("aria-valuenow", String(Math.round(made.getSizes()[index])));
    bar.addEventListener("keydown", (event) => {
      const change = KEYS[direction][event.key];
      if (!change) return;
      event.preventDefault();
      const now = made.getSizes();
      if (now[index] + change < 5 || now[index + 1] - change < 5) return;
      now[index] += change;
      now[index + 1] -= change;
      made.setSizes(now);
      keep(now);
      show();
    });
    bar.addEventListener("dblclick", () => { made.setSizes(sizes); keep(sizes); show(); });
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

export const ORDER = ["source", "loops", "llvm", "asm", "bench", "schedule", "console"];

/** Bring a pane forward and put the focus into it. */
function showPane(pane) {
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
  showPane(pane);
  $(`#pane-${pane}`).querySelector(".cm-content, [tabindex='0']")?.focus();
}

function tabs() {
  for (const pane of ORDER) {
    const title = pane === "source" ? "Source" : $(`#title-${pane}`).textContent;
    const button = element("button", { type: "button", "data-tab": pane }, title);
    button.addEventListener("click", () => showPane(pane));
    $("#tabs").append(button);
  }
  showPane(narrow.matches && ORDER.includes(recall("tab")) ? recall("tab") : "source");
}
