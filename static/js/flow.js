// The control flow of the LLVM IR or the assembly that is shown: blocks lead to their lines, lines to their block.
import { bringForward } from "./docking.js";
import { $, $$, element, tellFacts } from "./dom.js";
import { ladder } from "./ladder.js";
import { goToLine } from "./linking.js";
import { PANES } from "./panes.js";
import { ask } from "./server.js";
import { on, state, tell } from "./state.js";

const ZOOM = { in: 1.2, out: 1 / 1.2 };
const SCALE = { min: 0.2, max: 2.5 };
let shown = ""; // address of what is drawn
let scale = 1;
let fitted = true; // whether the drawing is as large as its pane lets it be, and not as the visitor made it
let opened = null; // the block whose lines stay marked while the pointer is elsewhere

export function startFlow() {
  const body = $("#body-flow");
  // Assembly first: it is what runs.
  const sources = PANES.filter(({ flows }) => flows).map(({ name }) => name);
  $("#flow-of").value = sources.includes(state.view.flow) ? state.view.flow : sources.at(-1);
  for (const event of ["answered", "shown"]) on(event, load);
  on("labelled", measuredAnew);
  on("text", (pane) => { if (pane === source()) load(); });
  on("cursor", ({ pane, line }) => { if (pane === source()) point(line); });
  $("#flow-of").addEventListener("change", () => { state.view.flow = source(); load(); });
  $("#flow-function").addEventListener("change", ({ target }) => { state.view.flow_function = target.value; load(); });
  $("#pane-flow").addEventListener("click", ({ target }) => {
    const button = target.closest("[data-flow-zoom]");
    if (button) zoomBy(ZOOM[button.dataset.flowZoom]);
    const block = target.closest(".block");
    if (block) open(block);
  });
  body.addEventListener("keydown", keys);
  new ResizeObserver(() => { if (fitted) fit(); }).observe(body);
  body.addEventListener("pointerover", ({ target }) => mark(target.closest(".block")));
  body.addEventListener("pointerleave", () => mark(null));
  $("#panes").addEventListener("pointerover", ({ target }) => { if (target.closest?.(`#body-${source()}`)) point(target.closest(".l")); });
  load();
}

const source = () => $("#flow-of").value;

/** Draw the function that is shown, where the pane is open and the text has changed. */
async function load() {
  const body = $("#body-flow");
  if (!body.clientWidth) return;
  const key = $(`#body-${source()}`)?.dataset.listing ?? "";
  const address = key && `/flow/${key}?${new URLSearchParams({ function: state.view.flow_function ?? "" })}`;
  if (address === shown) return;
  shown = address;
  if (!key) { show('<p class="empty">The control flow of a function appears here when code was made of it.</p>'); return; }
  const answer = await ask(address, { headers: { "HX-Request": "true" } });
  const html = answer.ok || answer.headers.has("Strata-Fragment") ? await answer.text() : "";
  if (address !== shown) return;
  if (html) { show(html); await loadThroughput(key); }
  else shown = ""; // the server has forgotten the text: the next answer brings it back
}

let call = {}; // what the throughput was asked for with

/** What was measured of the function on one thread, for this machine; of a ladder the step that is shown. */
function measuredCall() {
  if ((state.options.assembly ?? "host") !== "host" || $("#pane-bench").matches(".stale")) return {};
  const steps = ladder.measurements?.filter(({ kind }) => kind === "prefix").map(({ step }) => step) ?? [];
  const prefix = Math.min(state.options.prefix ?? Infinity, Math.max(0, ...steps));
  const alone = (ladder.measurements ?? []).filter((m) => m.frequency && m.flops && m.seconds && !m.estimated);
  const kernels = alone.filter(({ kind }) => kind === "kernel");
  const measured = kernels.length === 1 ? kernels[0] : alone.findLast(({ kind, step }) => kind === "prefix" && step === prefix);
  return measured ? { seconds: measured.seconds, frequency: measured.frequency, flops: measured.flops } : {};
}

/** Ask once more when there is something new. */
function measuredAnew() {
  const key = $(`#body-${source()}`)?.dataset.listing;
  if (key && $("#body-flow").clientWidth && JSON.stringify(measuredCall()) !== JSON.stringify(call)) loadThroughput(key);
}

/** What a model of the processor says of the hot loop of an assembly. */
async function loadThroughput(key) {
  const asked = shown;
  call = measuredCall();
  const query = new URLSearchParams({ function: state.view.flow_function ?? "", assembly: state.options.assembly ?? "", ...call });
  const answer = await fetch(`/throughput/${key}?${query}`).catch(() => null);
  if (asked === shown) $("#throughput").innerHTML = answer?.ok ? await answer.text() : ""; // escaped by our own server
}

function show(html) {
  const body = $("#body-flow");
  const before = $("#flow")?.dataset.function;
  opened = null;
  body.innerHTML = html; // rendered and escaped by our own server
  const drawing = $("#flow");
  const words = drawing ? drawing.dataset.facts.split("|") : [];
  tellFacts($("#facts-flow"), words);
  offer(drawing?.dataset.functions.split("|") ?? [], drawing?.dataset.function);
  if (!drawing) return;
  Object.assign(drawing.dataset, { width: drawing.getAttribute("width"), height: drawing.getAttribute("height") });
  if (before === drawing.dataset.function) resize();
  else fit();
  tell("drawn");
}

function offer(names, chosen) {
  const select = $("#flow-function");
  select.hidden = names.length < 2;
  select.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  if (chosen) select.value = chosen;
}

const LEAST_FIT = 0.7; // below it labels cannot be read

/** Show all of the drawing, if it can be read then, and else where most of the time is spent. */
function fit() {
  const drawing = $("#flow");
  const { offsetWidth, offsetHeight } = $("#body-flow"); // not without scroll bars, which depend on the size
  if (!drawing || !offsetWidth) return;
  fitted = true;
  scale = Math.min(1, Math.max(LEAST_FIT, Math.min(offsetWidth / Number(drawing.dataset.width), offsetHeight / Number(drawing.dataset.height))));
  resize();
  ($(".block.hot", drawing) ?? $(".block", drawing)).scrollIntoView({ block: "center", inline: "center" });
}

function zoomBy(factor) {
  fitted = false;
  scale = Math.min(SCALE.max, Math.max(SCALE.min, scale * factor));
  resize();
}

function resize() {
  const drawing = $("#flow");
  if (drawing) for (const side of ["width", "height"]) drawing.setAttribute(side, String(Number(drawing.dataset[side]) * scale));
}

/** Lines of the text that belong to a block. */
const linesOf = (block) => $$(`#body-${source()} .l`).filter(({ dataset }) => Number(dataset.i) >= Number(block.dataset.first) && Number(dataset.i) <= Number(block.dataset.last));

/** Whether the text stands alone: in a difference its lines have other numbers. */
const alone = () => !$(`#body-${source()} .diff`);

/** Mark the lines of the block under the pointer; without one, those of the block that was opened. */
function mark(block) {
  for (const line of $$(".l.in-block")) line.classList.remove("in-block");
  const marked = block ?? opened;
  if (marked && alone()) for (const line of linesOf(marked)) line.classList.add("in-block");
}

/** Go to the lines of a block. */
function open(block) {
  if (!alone()) return;
  opened = block;
  const hidden = !$(`#body-${source()}`).checkVisibility();
  bringForward(source());
  if (hidden) $(`#body-${source()}`).focus();
  goToLine(source(), Number(block.dataset.first));
  mark(block);
}

/** Show in which block a line is. */
function point(line) {
  for (const block of $$("#flow .block.here")) block.classList.remove("here");
  if (!line || !alone()) return;
  const index = Number(line.dataset.i);
  $$("#flow .block").find(({ dataset }) => Number(dataset.first) <= index && index <= Number(dataset.last))?.classList.add("here");
}

const STEPS = { ArrowDown: 1, ArrowUp: -1 };

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const block = event.target.closest(".block");
  if (event.key === "+" || event.key === "=") zoomBy(ZOOM.in);
  else if (event.key === "-") zoomBy(ZOOM.out);
  else if (block && (event.key === "Enter" || event.key === " ")) open(block);
  else if (block && event.key in STEPS) {
    const blocks = $$("#flow .block");
    const next = blocks[blocks.indexOf(block) + STEPS[event.key]];
    next?.focus();
    if (next) mark(next);
  } else return;
  event.preventDefault();
}
