// Plays a loop nest step by step: what it reads and writes, where it is, and what caches make of it.
import { $, element, tellFacts, toast } from "../dom.js";
import { editor } from "../editor.js";
import { live, servedBy, whole } from "./cache.js";
import { Grid, coloursOf, indices } from "./grid.js";
import { Progress, Trace } from "./trace.js";
import { post } from "../server.js";
import { on, state, tell, workspaceJson } from "../state.js";

const PANE = "player";
const still = matchMedia("(prefers-reduced-motion: reduce)");
let trace = null;
let progress = null;
let grids = [];
let colours = null;
let playing = null; // {last, owed} while it plays: the time of the last frame, and steps not made yet
let loading = false;

function start() {
  const pane = $(`#pane-${PANE}`);
  pane.addEventListener("click", ({ target }) => {
    const action = target.closest("[data-play]")?.dataset.play;
    if (action) ACTIONS[action]();
  });
  pane.addEventListener("keydown", pressed);
  $("#player-scrub").addEventListener("input", ({ target }) => { pause(); show(Number(target.value)); });
  $("#player-model").addEventListener("change", () => { panel(); show(progress.step); });
  new ResizeObserver(resized).observe($("#player-grids"));
  new MutationObserver(recolour).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  on("edited", old);
  on("options", old);
}

/** Play the loops, unless some are played. */
export function open() {
  if (!trace && !loading) load();
}

const ACTIONS = {
  toggle: () => (playing ? pause() : play()),
  first: () => { pause(); show(0, true); },
  last: () => { pause(); show(trace.steps - 1, true); },
  back: () => { pause(); show(progress.step - 1, true); },
  next: () => { pause(); show(progress.step + 1, true); },
};
const KEYS = { " ": "toggle", ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last" };

function pressed(event) {
  const own = event.target.closest("select, button, input");
  const action = KEYS[event.key];
  if (!trace || !action || own || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  ACTIONS[action]();
}

/** What is played is no longer what the editor holds. */
function old() {
  if (!trace) return;
  pause();
  $(`#pane-${PANE}`).classList.add("stale");
  $("#player-load").hidden = false;
}

/** Play the loops that the editor holds now. */
export async function load() {
  loading = true;
  $("#player-load").disabled = true;
  $("#player-empty").textContent = "Running a small instance of the program …";
  try {
    const asked = { ...(await workspaceJson(editor.text)), unit: state.view.unit };
    const response = await post("/api/traces", asked);
    const answer = await response.json();
    if (answer.trace) begin(new Trace(answer.trace));
    else refuse(answer.error?.message ?? answer.problem);
  } catch (error) {
    refuse(error.message);
    throw error;
  } finally {
    loading = false;
    $("#player-load").disabled = false;
  }
}

function refuse(reason) {
  trace = progress = null;
  $("#player-parts").hidden = $("#player-tools").hidden = true;
  $("#player-empty").hidden = $("#player-load").hidden = false;
  $("#player-empty").textContent = `Nothing to play: ${reason}`;
  toast(`Nothing to play: ${reason}`);
}

function begin(made) {
  trace = made;
  progress = new Progress(trace);
  $(`#pane-${PANE}`).classList.remove("stale");
  $("#player-load").hidden = $("#player-empty").hidden = true;
  $("#player-parts").hidden = $("#player-tools").hidden = false;
  $("#player-scrub").max = String(trace.steps - 1);
  $("#player-model").replaceChildren(...trace.models.map(({ name }, at) => element("option", { value: String(at) }, name)));
  $("#player-model").value = String(trace.models.length - 1);
  tellFacts($("#facts-player"), [trace.name, trace.size, ...(trace.complete ? [] : ["cut off"])]);
  $("#player-lines").replaceChildren(...trace.lines.map((line) => element("li", {}, line || " ")));
  makeGrids();
  panel();
  show(0, true);
}

let laidOut = 0; // width that the grids were made for

/** Make the grids for the room that there is: three in a row, two, or one. */
function makeGrids() {
  laidOut = $("#player-grids").clientWidth;
  const inRow = Math.min(trace.memories.length, laidOut > 700 ? 3 : laidOut > 330 ? 2 : 1);
  grids = trace.memories.map((memory) => new Grid(memory, laidOut / inRow - 16));
  $("#player-grids").replaceChildren(...grids.map(({ box }) => box), legend());
  colours = coloursOf($("#player-grids"));
}

function resized() {
  if (!trace || Math.abs($("#player-grids").clientWidth - laidOut) < 40) return;
  makeGrids();
  show(progress.step);
}

function legend() {
  const entry = (kind, text) => element("span", { class: `key ${kind}` }, text);
  const shared = trace.sites.map(({ loops }) => trace.sharing(loops)).find((loop) => loop !== undefined);
  const parts = [entry("reads", "read, with a dot"), entry("writes", "written, with a diagonal"), entry("recent", "recently used")];
  if (trace.sites.some(({ lanes }) => lanes > 1)) parts.push(entry("lanes", "numbers: lanes of one vector"));
  if (shared !== undefined) parts.push(entry("threads", `hatching: the iteration of ${trace.loops[shared].name} that wrote it; here they run one after the other`));
  return element("p", { class: "legend" }, ...parts);
}

const modelNumber = () => Number($("#player-model").value);

/** What the chosen caches make of the whole run; what changes with each step comes before it. */
function panel() {
  $("#player-cache").replaceChildren(element("div", { id: "player-live" }), ...whole(trace, trace.models[modelNumber()]));
}

function recolour() {
  if (!trace) return;
  colours = coloursOf($("#player-grids"));
  show(progress.step);
}

/** Show what a step does. */
function show(wanted, told = false) {
  const step = Math.max(0, Math.min(trace.steps - 1, wanted));
  progress.goTo(step);
  const accesses = trace.accesses(step);
  grids.forEach((grid, memory) => {
    const mine = accesses.filter(({ site }) => site.memory === memory);
    grid.draw(progress.touched[memory], progress.owner[memory], step, mine, colours, still.matches);
  });
  const scrub = $("#player-scrub");
  scrub.value = String(step);
  scrub.setAttribute("aria-valuetext", `step ${step + 1} of ${trace.steps}`);
  const now = $("#player-now");
  now.setAttribute("aria-live", told ? "polite" : "off");
  now.textContent = `step ${step + 1} of ${trace.steps}: ${accesses.map(describe).join("; ")}`;
  $("#player-loops").replaceChildren(...progress.around(step).map(({ name, value, kind }) => element("span", { class: kind }, `${name} = ${value}`)));
  $("#player-live").replaceChildren(...live(trace.models[modelNumber()], progress.served[modelNumber()], progress.kinds[modelNumber()]));
  mark(accesses.at(-1)?.site.line);
}

function describe({ event, site, elements }) {
  const memory = trace.memories[site.memory];
  const first = indices(memory, elements[0]);
  const where = elements.length > 1 ? `${first} and ${elements.length - 1} more` : first;
  return `${site.write ? "writes" : "reads"} ${memory.name}[${where}], ${servedBy(trace.models[modelNumber()], event)}`;
}

/** Light up the line that runs, here and, where it is the same program, in the loop IR with what became of it. */
function mark(line) {
  for (const item of $("#player-lines").children) item.removeAttribute("aria-current");
  const item = $("#player-lines").children[line - 1];
  if (!item) return;
  item.setAttribute("aria-current", "step");
  const list = $("#player-lines");
  const top = item.offsetTop - list.offsetTop;
  if (top < list.scrollTop || top + item.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 3;
  if (trace.shown[line - 1]) tell("played", { index: trace.shown[line - 1] - 1, count: trace.shownLines });
}

function play() {
  if (progress.step >= trace.steps - 1) show(0);
  playing = { last: performance.now(), owed: 0 };
  button();
  requestAnimationFrame(frame);
}

function frame(now) {
  if (!playing) return;
  playing.owed += ((now - playing.last) / 1000) * Number($("#player-speed").value);
  playing.last = now;
  const steps = Math.floor(playing.owed);
  playing.owed -= steps;
  if (steps) show(progress.step + steps);
  if (progress.step >= trace.steps - 1) pause();
  else requestAnimationFrame(frame);
}

function pause() {
  playing = null;
  button();
}

function button() {
  $("#player-toggle").textContent = playing ? "Pause" : "Play";
  $("#player-toggle").setAttribute("aria-pressed", String(Boolean(playing)));
}

start();
