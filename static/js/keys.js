// Keys that work anywhere, dialogs, and the small controls of the header.
import { compile, run } from "./compile.js";
import { moveFocused, sideOf, stackFocused } from "./dock-drag.js";
import { $, $$, readJson } from "./dom.js";
import { openFind } from "./find.js";
import { ladder, toggleLadder } from "./ladder.js";
import { closePane, duplicate, enlarge, focusPane, returnFrom } from "./layout.js";
import { changeTheme } from "./memory.js";
import { titleOf } from "./pane-tabs.js";
import { LISTINGS, PANES } from "./panes.js";
import { popOut } from "./popout.js";
import { share } from "./share.js";
import { state, tell } from "./state.js";
import { setOption, stepBy, toggleDiff } from "./steps.js";
import { resize } from "./text-size.js";

const apple = /Mac|iP(hone|ad)/.test(navigator.platform);
const plain = {
  "?": () => $("#help").showModal(),
  g: () => tell("reveal"),
  m: () => enlarge(focusedPane() ?? $(".pane.alone")?.dataset.pane ?? "loops"),
  d: toggleDiff,
  x: () => { if (focusedPane()) closePane(focusedPane()); },
  c: duplicatePane,
  t: stackFocused,
  o: popOutFocused,
  "/": () => openFind(focusedListing() ?? LISTINGS.find((pane) => $(`#body-${pane}`).checkVisibility())),
  "[": () => stepBy(-1),
  "]": () => stepBy(1),
};

const sizes = { Equal: 1, Minus: -1, Digit0: 0, NumpadAdd: 1, NumpadSubtract: -1 }; // with Alt

export function startKeys() {
  document.addEventListener("keydown", pressed, true);
  // A fact out of sight is shown while it has the focus.
  document.addEventListener("focusout", ({ target }) => target.closest?.(".facts")?.scrollTo(0, 0));
  $("#skip").addEventListener("click", (event) => act(event, () => focusPane("source")));
  $("#open-help").addEventListener("click", () => $("#help").showModal());
  $("#open-gallery").addEventListener("click", () => $("#gallery").showModal());
  $("#run-button").addEventListener("click", toggleRun);
  $("#theme-button").addEventListener("click", changeTheme);
  for (const dialog of $$("dialog")) dialog.addEventListener("click", ({ target }) => { if (target === dialog) dialog.close(); });
  if (apple) for (const key of $$("[data-keys^='Mod']")) key.textContent = key.textContent.replace("Ctrl", "⌘");
  const options = $("#options-form");
  options.addEventListener("change", ({ target }) => setOption(target.name, target.name === "target" ? target.value : Number(target.value)));
  options.addEventListener("submit", (event) => event.preventDefault());
  for (const menu of $$("details.menu")) menu.addEventListener("toggle", () => { if (menu.open) openers.set(menu, document.activeElement); });
  document.addEventListener("click", ({ target }) => {
    for (const menu of $$("details.menu")) if (!menu.contains(target)) menu.open = false;
    if (target.closest("[data-run]")) toggleRun();
    const goto = target.closest("[data-goto]");
    if (goto) tell("goto", Number(goto.dataset.goto));
  });
  describeOptions();
}

const focusedPane = () => document.activeElement.dataset.front ?? document.activeElement.closest(".pane")?.dataset.pane;

/** The pane that has the focus, if it shows a listing. */
const focusedListing = () => LISTINGS.find((pane) => pane === focusedPane());

function popOutFocused() {
  const pane = focusedPane();
  if (pane) popOut(pane);
}

/** Open another pane of the focused one's kind, if there may be several, and go on in it. */
function duplicatePane() {
  const pane = focusedPane();
  const copy = pane && $(`#pane-${pane} [data-duplicate]`) && duplicate(pane);
  if (copy) titleOf(copy).focus();
}

const openers = new WeakMap(); // what had the focus when a menu opened: its title, or what a key was pressed in

/** Close a menu; focus returns to where it came from. */
function closeMenu(menu) {
  const within = menu.open && menu.contains(document.activeElement);
  menu.open = false;
  if (within) (openers.get(menu)?.checkVisibility() ? openers.get(menu) : $("summary", menu)).focus();
}

/** Start a run; one that goes on is stopped by compiling instead. */
function toggleRun() {
  if ($("#run-button").classList.contains("stops")) {
    compile();
    return;
  }
  ladder.forget();
  run();
}

const ELSEWHERE = "The Assembly pane’s other CPUs are for inspection only.";

/** The header names the target of what is shown; the one of the options holds where the script names none. */
export function describeOptions() {
  const { target: chosen = "llvm -mcpu=native", threads = 1, opt_level: level = 3 } = state.options;
  const used = readJson("answer").target;
  const own = Boolean(used) && used !== chosen;
  const words = [`Build: ${(own ? used : chosen).replace(/^llvm -mcpu=/, "llvm · ")}`, `${threads} thread${threads === 1 ? "" : "s"}`];
  if (own) words[0] += " (script)";
  if (level !== 3) words.push(`O${level}`);
  $("#options-summary").textContent = words.join(" · ");
  $("#target-hint").textContent = own
    ? `The script names its own target, ${used}, and is built for it. This one applies to scripts that name none. ${ELSEWHERE}`
    : `The script is built, measured and run for this target. ${ELSEWHERE}`;
}

function pressed(event) {
  const mod = apple ? event.metaKey : event.ctrlKey;
  if (mod && event.key === "Enter") return act(event, event.shiftKey ? toggleLadder : toggleRun);
  if (mod && event.key.toLowerCase() === "s") return act(event, share);
  // The browser's own finds only in the lines that have been fetched.
  if (mod && event.key.toLowerCase() === "f" && focusedListing()) return act(event, () => openFind(focusedListing()));
  if (event.altKey && /^Digit[1-9]$/.test(event.code)) return act(event, () => focusPane(PANES[Number(event.code.slice(5)) - 1].name));
  if (event.altKey && !mod && event.code in sizes) return act(event, () => resize(sizes[event.code]));
  if (event.key === "Escape" && !$("dialog[open]") && !event.target.closest?.(".find")) {
    const pane = $("details.menu[open]") || event.target.closest?.(".cm-editor, select") ? null : focusedPane();
    for (const menu of $$("details.menu")) closeMenu(menu);
    if (pane) returnFrom(pane);
    tell("leave");
    return tell("unpin");
  }
  const writing = event.target.closest?.("input, select, textarea, .cm-editor, dialog");
  const side = sideOf(event);
  if (!writing && side) return act(event, () => moveFocused(side));
  if (!writing && !mod && !event.altKey && plain[event.key]) return act(event, plain[event.key]);
  return undefined;
}

function act(event, action) {
  event.preventDefault();
  event.stopPropagation();
  action();
}
