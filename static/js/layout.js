// Which panes show: all that are open, or one at a time where there is little room.
import { beside, cellOf, stacked } from "./arrangement.js";
import { OWN, adapt, bringForward, chooseArrangement, chosenArrangement, current, divide, suit, takeArrangement } from "./docking.js";
import { $, $$, element, narrow, ownWindow, readJson, toast } from "./dom.js";
import { recall, remember } from "./memory.js";
import { startTabs, titleOf } from "./pane-tabs.js";
import { ARRANGEMENTS, PANES, paneOf, steppedAt } from "./panes.js";
import { away, popOut } from "./popout.js";
import { on, state, tell } from "./state.js";

const inLesson = document.body.classList.contains("teaching");
const reading = document.body.classList.contains("reading");
const NAMES = PANES.map(({ name }) => name);

export function startLayout() {
  takeArrangement();
  // A link says which panes it shows; else they are as this browser left them.
  for (const name of ["closed", "opened"]) state.view[name] ??= state.link ? "" : recall(name) ?? "";
  if (PANES.some(({ name, copy_of: original }) => original && !closed().has(name))) state.compiled = false;
  if (reading) {
    // Where nobody can type or measure, a pane without content takes room for nothing.
    const theirs = state.view.closed;
    on("answered", () => {
      const empty = PANES.filter(({ name }) => $(`#pane-${name} > * > .empty`)).map(({ name }) => name);
      state.view.closed = [theirs, ...empty].join(" ");
      arrange();
      tell("shown");
    });
  }
  on("away", () => { arrange(); menu(); tell("shown"); });
  arrange();
  makeMenu();
  makeTabs();
  startTabs(bringForward);
  offer();
  on("answered", ({ mode, status, measurements }) => { // where one pane shows at a time, a run ends at its figures
    if (narrow.matches && mode === "run" && status === "ok" && (measurements.length || !hasGraph())) showPane("bench");
  });
  on("answered", ({ machine: now }) => { if (now !== machine && (now === "device" || !$("#state.failed"))) setMachine(now); });
  showPane(firstPane());
  document.addEventListener("click", ({ target }) => {
    const heading = target.closest(".heading");
    if (heading) enlarge(heading.dataset.enlarge);
    const close = target.closest("[data-close]");
    if (close) closePane(close.dataset.close);
    const copied = target.closest("[data-duplicate]");
    if (copied) duplicate(copied.dataset.duplicate);
    const tab = target.closest("[data-front]");
    if (tab?.ariaSelected === "true") enlarge(tab.dataset.front);
    else if (tab) bringForward(tab.dataset.front);
    const out = target.closest("[data-popout]");
    if (out) popOut(out.dataset.popout);
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
  if (ownWindow) name = paneOf(ownWindow).level || name;
  const alone = ownWindow ? null : $(".pane.alone");
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
  const shut = closed();
  for (const pane of PANES.filter(({ level: own, machine: of, copy_of: original }) => own === "graph" || of || original)) {
    const hidden = (pane.level === "graph" && !hasGraph()) || absent(pane) || (pane.copy_of && shut.has(pane.name));
    $(`#tabs [data-tab="${pane.name}"]`).hidden = hidden;
    $(`#panes-form [name="${pane.name}"]`).parentElement.hidden = hidden;
  }
  // Where one pane shows at a time, those that are closed have no tab, but for the one that shows.
  for (const tab of $$("#tabs button")) tab.classList.toggle("closed", shut.has(tab.dataset.tab));
}

/** Close a pane, or open it where it was; the last one stays open.
 * @param {string} pane
 * @param {boolean} open */
export function setOpen(pane, open) {
  if (ownWindow) return open ? undefined : window.close();
  if (!open) away.get(pane)?.close();
  const now = closed();
  if (open) now.delete(pane);
  else now.add(pane);
  if (NAMES.every((other) => now.has(other) || away.has(other) || levelOf(other) !== level() || absent(paneOf(other)))) {
    toast("At least one pane must stay open");
    menu();
    return undefined;
  }
  if (!open && $(`#pane-${pane}`).classList.contains("alone")) enlarge(pane);
  const atFirst = new Set(PANES.filter((other) => other.open).map(({ name }) => name));
  state.view.closed = NAMES.filter((name) => now.has(name) && atFirst.has(name)).join(" ");
  state.view.opened = NAMES.filter((name) => !now.has(name) && !atFirst.has(name)).join(" ");
  if (!reading && !inLesson) for (const name of ["closed", "opened"]) remember(name, state.view[name]);
  arrange();
  if (open && !atFirst.has(pane)) makeRoom(pane);
  if (open) bringForward(pane);
  offer();
  menu();
  return tell("shown");
}

const LEAST = [420, 130]; // width and height that a pane keeps when another one takes of its room, where it had as much
const SIDES = { right: [0.5, 1], bottom: [1, 0.5] }; // where a pane can share the room of another, and how much each has then

const suffices = (size, needed) => size.every((pixels, dimension) => pixels >= needed[dimension]);
const area = ([width, height]) => width * height;
const largest = (places) => places.sort((one, other) => area(other.size) - area(one.size))[0];

/** The panes beside the script that show, with their sizes. */
const cells = () => $$("#right .pane:not(.closed, .behind)").map((section) => {
  const { width, height } = section.getBoundingClientRect();
  return { name: section.dataset.pane, size: [width, height] };
});

/** Where its place leaves a pane that was just opened, or those beside it, too little room: let it share that of another
 * pane, or else be a tab of the largest one of its kind. */
function makeRoom(pane) {
  const section = $(`#pane-${pane}`);
  if (narrow.matches || $(".pane.alone") || !section.checkVisibility()) return;
  const after = new Map(cells().map(({ name, size }) => [name, size]));
  section.classList.add("closed");
  divide();
  const before = cells();
  section.classList.remove("closed");
  const { wanted, dock, machine: of } = paneOf(pane);
  const keeps = ({ name, size }) => suffices(after.get(name), size.map((pixels, dimension) => Math.min(pixels, LEAST[dimension])));
  if (!before.length || (suffices(after.get(pane) ?? wanted, wanted) && before.every(keeps))) {
    divide();
    return;
  }
  const shared = before.flatMap(({ name, size }) => Object.entries(SIDES).map(([side, shares]) => ({ name, side, size: size.map((pixels, dimension) => pixels * shares[dimension]) })));
  const place = largest(shared.filter(({ name, size }) => suffices(size, wanted) && suffices(size, paneOf(name).wanted)));
  const kinds = [(other) => other.dock === dock && other.machine === of, (other) => other.dock === dock, ({ name }) => name !== steppedAt(level())?.name, () => true];
  const kin = kinds.map((alike) => largest(before.filter(({ name }) => alike(paneOf(name))))).find(Boolean);
  adapt(place ? beside(current(), pane, place.name, place.side) : stacked(current(), pane, kin.name));
}

/** Open another pane of a kind beside one, at the step that this shows.
 * @param {string} pane
 * @returns {string | null} its name, or null where there are as many as there may be */
export function duplicate(pane) {
  const { copy_of: copied, title } = paneOf(pane);
  const shut = closed();
  const free = PANES.find(({ name, copy_of: original }) => original && original === (copied || pane) && shut.has(name));
  if (!free) {
    toast(`${title} cannot be opened again`);
    return null;
  }
  if (pane in state.view) state.view[free.name] = state.view[pane];
  adapt(beside(current(), free.name, pane, cellOf(current(), pane).box.direction === "horizontal" ? "right" : "bottom"));
  setOpen(free.name, true);
  tell("options");
  return free.name;
}

/** Give the room to the panes that are open. */
function arrange() {
  const shut = closed();
  const hidden = (pane) => shut.has(pane) || away.has(pane) || levelOf(pane) !== level() || absent(paneOf(pane));
  for (const pane of NAMES) $(`#pane-${pane}`).classList.toggle("closed", ownWindow ? pane !== ownWindow : hidden(pane));
  const fresh = suit(level() === "graph" ? "model" : machine);
  divide();
  if (fresh) listed("opened").forEach(makeRoom);
}

/** The boxes of the "Panes" menu say what is open. */
function menu() {
  const shut = closed();
  for (const box of $$("#panes-form input[name]")) box.checked = !shut.has(box.name);
  const { chosen, hasOwn } = chosenArrangement();
  $("#arrangement").value = chosen;
  $(`#arrangement [value="${OWN}"]`).disabled = !hasOwn;
}

function makeMenu() {
  for (const { name, title } of PANES) {
    const box = element("input", { type: "checkbox", name });
    box.addEventListener("change", () => {
      setOpen(name, box.checked);
      if (narrow.matches && box.checked) showPane(name);
    });
    $("#panes-form").append(element("label", {}, box, title));
  }
  const choice = element("select", { id: "arrangement" }, element("option", { value: "" }, "automatic"));
  for (const [name, { title }] of [...Object.entries(ARRANGEMENTS), [OWN, { title: "My own" }]]) choice.append(element("option", { value: name }, title));
  choice.addEventListener("change", () => {
    chooseArrangement(choice.value);
    const next = choice.value === "model" && hasGraph() ? "graph" : choice.value in ARRANGEMENTS ? "code" : level();
    setLevel(next);
  });
  $("#panes-form").prepend(element("label", { class: "arrangement" }, "Layout", choice));
  $("#panes-menu").addEventListener("toggle", menu);
  menu();
}

// One at a time

/** Show a pane where one shows at a time.
 * @param {string} pane */
function showPane(pane) {
  if (narrow.matches && levelOf(pane) !== level()) setLevel(levelOf(pane));
  for (const section of $$(".pane")) section.classList.toggle("shown", section.dataset.pane === pane);
  for (const tab of $$("#tabs button")) tab.setAttribute("aria-current", String(tab.dataset.tab === pane));
  $(`#tabs [data-tab="${pane}"]`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  remember("tab", pane);
  tell("shown");
}

/** Let a pane be seen that is open, where what it shows was asked for elsewhere: the focus stays there. */
export function uncover(pane) {
  if (ownWindow) return;
  bringForward(pane);
  showPane(pane);
}

/** Maximise a pane, or restore all of them. */
export function enlarge(pane) {
  const section = $(`#pane-${pane}`);
  const alone = !section.classList.contains("alone");
  for (const other of $$(".pane")) other.classList.toggle("alone", alone && other === section);
  for (const heading of $$(".heading")) heading.setAttribute("aria-pressed", String(alone && heading.dataset.enlarge === pane));
  $("#panes").classList.toggle("enlarged", alone);
}

/** Show one pane and no other, as a frame of another site may ask for: `?view=embed&pane=asm`. */
export function showAlone(pane) {
  if (!NAMES.includes(pane) || (levelOf(pane) === "graph" && !hasGraph())) return;
  if (levelOf(pane) !== level()) setLevel(levelOf(pane));
  if (closed().has(pane)) setOpen(pane, true);
  showPane(pane);
  enlarge(pane);
}

const openers = new Map(); // pane -> the button elsewhere that it was opened by

/** Let the focus go back to the button that a pane was opened by, once; returns whether there is one. */
export function returnFrom(pane) {
  const opener = openers.get(pane);
  openers.delete(pane);
  const from = opener?.isConnected && opener.closest(".pane");
  if (from && !opener.checkVisibility()) focusPane(from.dataset.pane);
  openers.delete(from?.dataset.pane);
  opener?.focus();
  return opener === document.activeElement;
}

/** Close a pane; the focus goes on from where it was opened, or to what is open, not back to the top of the page. */
export function closePane(pane) {
  setOpen(pane, false);
  const section = $(`#pane-${pane}`);
  if (section.matches(".closed") && !returnFrom(pane)) titleOf($(".pane:not(.closed, .behind)").dataset.pane).focus();
}

export function focusPane(pane) {
  const opener = document.activeElement.closest("button");
  if (opener?.closest(".pane")?.dataset.pane === pane || opener?.matches(".heading, [role='tab']")) openers.delete(pane);
  else if (opener) openers.set(pane, opener);
  if (away.has(pane)) return away.get(pane).focus();
  const alone = $(".pane.alone");
  if (alone && alone.dataset.pane !== pane) enlarge(pane);
  if (levelOf(pane) !== level()) {
    if (levelOf(pane) === "graph" && !hasGraph()) return undefined;
    setLevel(levelOf(pane));
  }
  if (absent(paneOf(pane))) return undefined;
  if (closed().has(pane)) setOpen(pane, true);
  bringForward(pane);
  showPane(pane);
  return $(`#pane-${pane}`).querySelector(".cm-content, [tabindex='0']")?.focus();
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
