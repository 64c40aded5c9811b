// An access of a kernel as a drawing, stepped through the loops: one warp over memory, and its block's tile of the matrix.
import { $, $$, element, readJson } from "./dom.js";
import { on } from "./state.js";
import { MARGIN, drawMemory, memoryWords } from "./warp-memory.js";
import { drawTile, tileWords } from "./warp-tile.js";

const MAX_RUNS = 6;
const CONTROLS = { "warp-block": "block", "warp-step": "iteration", "warp-number": "warp" };
let chosen = null; // the access that is drawn
const at = { block: 0, iteration: 0, warp: 0 };

export function startWarp() {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-warp]");
    if (button) choose(Number(button.dataset.warp));
  });
  document.addEventListener("input", ({ target }) => {
    if (!(target.id in CONTROLS)) return;
    at[CONTROLS[target.id]] = Number(target.value);
    draw();
  });
  document.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.target.id !== "warp-drawing") return;
    event.preventDefault();
    at.iteration = Math.min(Math.max(at.iteration + by, 0), chosen.steps.iterations.length - 1);
    $("#warp-step").value = String(at.iteration);
    draw();
  });
  on("answered", () => { chosen = null; });
}

function choose(index) {
  chosen = readJson("warps")[index];
  const { blocks, iterations, warps } = chosen.steps;
  Object.assign(at, { block: 0, iteration: 0, warp: 0 });
  $("#warp").hidden = false;
  $("#warp-title").textContent = `How a block ${chosen.title}`;
  $("#warp-block").replaceChildren(...blocks.map((position, value) => element("option", { value: String(value) }, named(position))));
  limit("#warp-step", iterations.length);
  limit("#warp-number", warps);
  draw();
  $("#warp").scrollIntoView({ block: "nearest" });
}

function limit(selector, count) {
  Object.assign($(selector), { max: String(count - 1), value: "0" });
  $(selector).closest("label").hidden = count < 2;
}

function draw() {
  const lanes = lanesOf(at.block, at.iteration, at.warp);
  const { iterations, all_iterations: all, warps } = chosen.steps;
  const loops = named(iterations[at.iteration]);
  $("#warp-loops").textContent = all > 1 ? `${loops}, ${at.iteration + 1} of ${all.toLocaleString("en")}${all > iterations.length ? `, the first ${iterations.length} are here` : ""}` : "";
  $("#warp-count").textContent = warps > 1 ? `${at.warp + 1} of ${warps}` : "";
  $("#warp-words").textContent = `${memoryWords(lanes, chosen)}: ${runs(lanes)}`;
  $("#warp-drawing").replaceChildren(drawMemory(lanes, chosen));
  follow($("#warp-drawing"));
  const tiled = chosen.shape.length > 0;
  $("#warp-tile").hidden = !tiled;
  if (!tiled) return;
  const now = elementsOf(at.block, at.iteration);
  const before = new Set(Array.from({ length: at.iteration }, (_, iteration) => [...elementsOf(at.block, iteration)]).flat());
  const layers = { before, now, warp: touched([lanes]) };
  $("#warp-tile-words").textContent = tileWords(layers, chosen.shape);
  $("#warp-tile-drawing").replaceChildren(drawTile(layers, chosen.shape));
}

/** Scroll a drawing that is wider than its pane to the cells that are lit; where they are in sight it stays. */
function follow(drawing) {
  const lit = $$(".cell:not(.none)", drawing).map((cell) => [Number(cell.getAttribute("x")), Number(cell.getAttribute("width"))]);
  if (!lit.length) return;
  const [begin, end] = [Math.min(...lit.map(([left]) => left)), Math.max(...lit.map(([left, width]) => left + width))];
  const room = drawing.clientWidth;
  const [least, most] = end - begin > room ? [begin - MARGIN, end - room] : [end - room, begin];
  drawing.scrollLeft = Math.min(Math.max(drawing.scrollLeft, least), most);
}

/** The first byte that each lane of a warp accesses, -1 of an idle one. */
function lanesOf(block, iteration, warp) {
  const { iterations, warps, patterns, places } = chosen.steps;
  const [pattern, first] = places[(block * iterations.length + iteration) * warps + warp];
  return patterns[pattern].map((offset) => (offset < 0 ? -1 : first + offset));
}

/** The elements that a block accesses in an iteration. */
function elementsOf(block, iteration) {
  return touched(Array.from({ length: chosen.steps.warps }, (_, warp) => lanesOf(block, iteration, warp)));
}

function touched(warps) {
  const each = chosen.size / chosen.element;
  const first = warps.flat().filter((address) => address >= 0).map((address) => address / chosen.element);
  return new Set(first.flatMap((place) => Array.from({ length: each }, (_, offset) => place + offset)));
}

/** Which lanes access which bytes, neighbours that lie side by side together. */
function runs(lanes) {
  const made = [];
  lanes.forEach((address, lane) => {
    if (address < 0) return;
    const last = made.at(-1);
    const step = last && last.to === lane - 1 ? address - last.address : NaN;
    if (last && (step === 0 || step === chosen.size) && (last.step ?? step) === step) Object.assign(last, { to: lane, address, step });
    else made.push({ from: lane, to: lane, begin: address, address, step: null });
  });
  const told = made.slice(0, MAX_RUNS).map(({ from, to, begin, address }) => `${from === to ? `lane ${from}` : `lanes ${from} to ${to}`} at bytes ${begin} to ${address + chosen.size - 1}`);
  return [...told, ...(made.length > MAX_RUNS ? [`and ${made.length - MAX_RUNS} more`] : [])].join(", ") || "no lane";
}

/** A position in words: `blockIdx.x = 1, k.outer = 0`. */
const named = (position) => Object.entries(position).map(([name, value]) => `${name.replace("Idx_", "Idx.")} = ${value}`).join(", ") || "one";
