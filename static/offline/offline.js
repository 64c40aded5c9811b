// A page that is a single file: links its lines and changes its steps, all from what the file holds.
import { read } from "../js/arrangement.js";
import { EMPTY, LinkModel, fromSource, isEmpty, meets } from "../js/links.js";

const TINTS = 8;
const NEEDS_SERVER = "This step is not in the file: a server compiles the script up to it. Open the script in Strata to choose it.";
const SCRIPT = "source";
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const readBlock = (id) => JSON.parse(document.getElementById(id).textContent);

const model = new LinkModel();
const texts = new Map(); // key of a listing -> its nodes, once they were shown
let pinned = null; // footprint

const bodies = () => $$(".code");
const idsOf = (node) => node.dataset.origins.split(" ").filter(Boolean).map(Number);
const indexOf = (line) => Number(line.dataset.i);

function footprintOf(node) {
  if (node.matches(".l")) {
    const { pane } = node.closest(".code").dataset;
    return pane === SCRIPT ? fromSource([indexOf(node) + 1]) : model.of(pane, indexOf(node));
  }
  return node.matches("p") ? model.axis(idsOf(node)) : model.footprint(idsOf(node));
}

/** Read the links of what is shown, and give each line of the script its colour. */
function colour() {
  for (const body of bodies()) {
    if (body.dataset.pane !== SCRIPT) model.setPane(body.dataset.pane, JSON.parse($("script[id^='links-']", body).textContent));
  }
  model.colour(readBlock("script"), TINTS);
  for (const node of $$(".l, p[data-origins], .node")) {
    const source = node.matches(`#body-${SCRIPT} .l`);
    const tint = source ? model.tints.get(indexOf(node) + 1) : model.tintOf(footprintOf(node));
    for (let number = 1; number <= TINTS; number += 1) node.classList.toggle(`t${number}`, number === tint);
  }
}

/** Light up what links to a footprint. */
function show(footprint) {
  const active = !isEmpty(footprint);
  document.body.classList.toggle("linking", active);
  const related = (node) => active && meets(footprintOf(node), footprint);
  for (const node of $$(".related")) node.classList.remove("related");
  if (!active) return;
  for (const node of $$(".l, [data-origins]")) node.classList.toggle("related", related(node));
}

/** Keep lit what a place links to, and bring it into view in the other panes. */
function pin(node) {
  const footprint = footprintOf(node);
  pinned = isEmpty(footprint) ? null : footprint;
  show(pinned ?? EMPTY);
  $("#announce").textContent = pinned ? `${$$(".l.related").length} lines belong together` : "Nothing was generated from this line";
  for (const body of bodies()) if (!body.contains(node)) $(".l.related", body)?.scrollIntoView({ block: "center", inline: "start" });
}

// Steps

/** Show the text, and the drawing, of the step that is chosen. */
function showStep(select) {
  const { listing, drawing } = select.selectedOptions[0].dataset;
  const body = $(`#body-${select.dataset.pane}`);
  texts.set(body.dataset.listing, [...body.childNodes]);
  if (!texts.has(listing)) texts.set(listing, [...$(`template[data-listing="${listing}"]`).content.firstElementChild.childNodes]);
  body.replaceChildren(...texts.get(listing));
  body.dataset.listing = listing;
  if (drawing) draw(drawing);
  pinned = null;
  colour();
  show(EMPTY);
  mark();
}

function draw(key) {
  const graph = $(`template[data-drawing="${key}"]`);
  if (graph) $(".drawing")?.replaceChildren(graph.content.cloneNode(true));
}

/** Go to the node of a row of the comparison of models that follows the one it led to last. */
function goToNext({ dataset }) {
  const slots = dataset.nodes.split(" ");
  dataset.last = slots[(slots.indexOf(dataset.last) + 1) % slots.length];
  for (const node of $$("#graph .node")) node.classList.toggle("cursor", node.dataset.slot === dataset.last);
  $("#graph[data-compared] .node.cursor")?.scrollIntoView({ block: "center", inline: "center" });
}

/** The timeline says which steps are shown, and which can be. */
function mark() {
  for (const chip of $$(".chip")) {
    const select = $$("select.step").find((other) => [...other.options].some(({ value }) => value === chip.dataset.target));
    chip.disabled = !select;
    if (!select && !chip.title.endsWith(NEEDS_SERVER)) chip.title += `\n${NEEDS_SERVER}`;
    chip.setAttribute("aria-pressed", String(Boolean(select) && chip.dataset.members.split("|").includes(select.value)));
  }
}

function choose(select, index) {
  if (index < 0 || index >= select.options.length) return;
  select.selectedIndex = index;
  showStep(select);
}

function click({ target }) {
  const arrow = target.closest("[data-step]");
  const chip = target.closest(".chip");
  const level = target.closest("button[data-level]");
  const heading = target.closest(".heading");
  const row = target.closest("[data-nodes]");
  if (row) goToNext(row);
  else if (arrow) {
    const select = $(`#step-${arrow.dataset.pane}`);
    choose(select, select.selectedIndex + Number(arrow.dataset.step));
  } else if (chip) {
    const select = $$("select.step").find((other) => [...other.options].some(({ value }) => value === chip.dataset.target));
    choose(select, [...select.options].findIndex(({ value }) => value === chip.dataset.target));
  } else if (level) showLevel(level.dataset.level);
  else if (heading) enlarge(heading);
  else if (target.id === "save-script") save();
  else if (target.closest("#theme-button")) theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  else if (target.closest("#panes") && !target.closest("button, select")) {
    const place = target.closest(".l, [data-origins]");
    if (place && !getSelection().toString()) pin(place);
  }
}

function showLevel(level) {
  $("#right").dataset.level = level;
  for (const button of $$("button[data-level]")) button.setAttribute("aria-pressed", String(button.dataset.level === level));
  for (const pane of $$(".pane")) pane.hidden = Boolean(pane.dataset.level) && pane.dataset.level !== level;
  for (const box of $$("#panes div:is(.row, .column, .tabbed)").reverse()) box.hidden = !$(".pane:not([hidden])", box);
}

// Where panes stand

/** The rows and columns of the file, with their panes. */
const boxOfNode = (node) => ({
  name: node.id === "panes" ? "columns" : node.id, direction: node.matches(".column") ? "vertical" : "horizontal",
  parts: [...node.children].map((child) => child.dataset.pane ?? boxOfNode(child)), sizes: [...node.children].map(() => 1),
});

/** Put the panes where the visitor had them, in the sizes and the groups that they had. */
function arrange({ name, direction, parts, sizes, front }) {
  const box = name === "columns" ? $("#panes") : document.getElementById(name) ?? Object.assign(document.createElement("div"), { id: name });
  box.classList.toggle("row", direction === "horizontal" && name !== "columns");
  box.classList.toggle("column", direction === "vertical");
  box.classList.toggle("tabbed", direction === "tabs");
  const nodes = parts.map((part) => (part.name ? arrange(part) : $(`#pane-${part}`)));
  nodes.forEach((node, index) => { node.style.flex = `${sizes[index]} 1 0`; });
  box.replaceChildren(...nodes);
  if (direction === "tabs") box.prepend(tabsOf(box, parts, front ?? parts[0]));
  return box;
}

function tabsOf(box, panes, front) {
  const bar = Object.assign(document.createElement("div"), { className: "pane-tabs", role: "tablist" });
  const choose = (chosen) => {
    for (const tab of bar.children) tab.setAttribute("aria-selected", String(tab.dataset.front === chosen));
    for (const pane of panes) $(`#pane-${pane}`, box).classList.toggle("behind", pane !== chosen);
  };
  bar.append(...panes.map((pane) => {
    const tab = Object.assign(document.createElement("button"), { type: "button", role: "tab", textContent: $(`#title-${pane}`, box).textContent });
    tab.dataset.front = pane;
    tab.addEventListener("click", () => choose(pane));
    return tab;
  }));
  box.classList.add("grouped");
  choose(front);
  return bar;
}

/** Give a pane the whole room, or take it back. */
function enlarge(heading) {
  const pane = heading.closest(".pane");
  const alone = pane.classList.toggle("alone");
  for (const other of $$(".pane.alone")) if (other !== pane) other.classList.remove("alone");
  heading.setAttribute("aria-pressed", String(alone));
  $("#panes").classList.toggle("enlarged", alone);
}

function save() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([readBlock("script")], { type: "text/x-python" }));
  link.download = "script.py";
  link.click();
  URL.revokeObjectURL(link.href);
}

const theme = (name) => { document.documentElement.dataset.theme = name; };

const MOVES = { ArrowDown: 1, ArrowUp: -1 };

function keys(event) {
  if (event.key === "Escape") {
    pinned = null;
    show(EMPTY);
  }
  if (event.key === "Enter" && event.target.matches("p[data-origins]")) pin(event.target);
  const body = event.target.closest?.(".code");
  if (!body || event.ctrlKey || event.metaKey || event.altKey) return;
  const lines = $$(".l", body);
  const cursor = lines.findIndex((line) => line.classList.contains("cursor"));
  if (event.key === "Enter" && cursor >= 0) pin(lines[cursor]);
  const next = lines[cursor + (MOVES[event.key] ?? NaN)];
  if (!next) return;
  event.preventDefault();
  lines[cursor]?.classList.remove("cursor");
  next.classList.add("cursor");
  next.scrollIntoView({ block: "nearest" });
  if (!pinned) show(footprintOf(next));
}

theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
for (const row of $$(".row[data-level]")) for (const pane of $$(".pane", row)) pane.dataset.level = row.dataset.level;
const stood = readBlock("docking") && read(readBlock("docking"), boxOfNode($("#panes")));
if (stood) arrange(stood);
showLevel($("#right").dataset.level);
model.setOrigins(readBlock("answer").origins);
const first = $("#step-graph")?.selectedOptions[0].dataset.drawing;
if (first) draw(first);
colour();
mark();
$("#strip").tabIndex = 0; // its buttons may all be out of use, and it scrolls
document.addEventListener("click", click);
document.addEventListener("keydown", keys);
document.addEventListener("change", ({ target }) => { if (target.matches("select.step")) showStep(target); });
$("#panes").addEventListener("pointerover", ({ target }) => {
  if (!pinned) show(target.closest(".l, [data-origins]") ? footprintOf(target.closest(".l, [data-origins]")) : EMPTY);
});
const at = $(`#body-${readBlock("pinned").pane || SCRIPT} .l[data-i="${readBlock("pinned").index}"]`);
if (at) pin(at);
document.documentElement.dataset.ready = "true";
