// An access of a kernel as a drawing, stepped through the loops: one warp over memory and banks, the matrices of an instruction, and
// the block's tile of the matrix.
import { $, $$, element, readJson } from "../dom.js";
import { on } from "../state.js";
import { bankWords, drawBanks, phasesOf } from "./banks.js";
import { showMatrices, startMatrices } from "./matrices.js";
import { MARGIN, drawMemory, memoryWords } from "./memory.js";
import { drawTile, tileWords } from "./tile.js";

const MAX_RUNS = 6;
const CONTROLS = { "warp-block": "block", "warp-step": "iteration", "warp-number": "warp" };
let chosen = null; // what is drawn
let before = null; // the banks that the access hit before the last edit that changed them
const at = { block: 0, iteration: 0, warp: 0 };

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
on("answered", followEdit);
startMatrices();

/** Draw what a button stands for. */
export function choose({ dataset }) {
  before = null;
  Object.assign(at, { block: 0, iteration: 0, warp: 0 });
  show(dataset.warp ? named("accesses")[dataset.warp] : named("products")[dataset.product]);
  $("#warp").scrollIntoView({ block: "nearest" });
}

/** What can be drawn; each has a key that outlives an edit of the script. */
function named(kind) {
  const seen = new Map();
  return readJson("warps")[kind].map((drawing) => {
    const name = `${kind} ${drawing.kernel} ${drawing.title}`;
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return { ...drawing, kind, key: `${name} ${seen.get(name)}` };
  });
}

/** After an edit, draw the same access as it is now, where there is still one. */
function followEdit() {
  if (!chosen || !$("#warps") || !$("#warp").hidden) return;
  const now = named(chosen.kind).find(({ key }) => key === chosen.key);
  if (!now || (chosen.steps && !now.steps)) {
    chosen = null;
    return;
  }
  const old = isShared(chosen) && now.steps ? { phases: phasesOf(lanesOf(at.block, at.iteration, at.warp), chosen.size) } : null;
  const { blocks, iterations, warps } = now.steps ?? { blocks: [0], iterations: [0], warps: 1 };
  Object.assign(at, { block: Math.min(at.block, blocks.length - 1), iteration: Math.min(at.iteration, iterations.length - 1), warp: Math.min(at.warp, warps - 1) });
  show(now);
  if (old && JSON.stringify(old.phases) !== JSON.stringify(phasesOf(lanesOf(at.block, at.iteration, at.warp), now.size))) before = old;
  draw();
}

function show(drawing) {
  chosen = drawing;
  $("#warp").hidden = false;
  $("#warp-title").textContent = drawing.steps ? `How a block ${drawing.title}` : drawing.title;
  const line = $("#warp-line");
  line.hidden = !drawing.line;
  Object.assign(line.dataset, { goto: drawing.line ?? "" });
  line.textContent = `line ${drawing.line}`;
  $("#warp-access").hidden = !drawing.steps;
  if (drawing.steps) {
    const { blocks, iterations, warps } = drawing.steps;
    $("#warp-block").replaceChildren(...blocks.map((position, value) => element("option", { value: String(value) }, words(position))));
    $("#warp-block").value = String(at.block);
    limit("#warp-step", iterations.length, at.iteration);
    limit("#warp-number", warps, at.warp);
  }
  draw();
}

function limit(selector, count, value) {
  Object.assign($(selector), { max: String(count - 1), value: String(value) });
  $(selector).closest("label").hidden = count < 2;
}

const isShared = ({ scope, steps, known }) => Boolean(steps) && known && scope !== "global";

function draw() {
  const lanes = chosen.steps ? lanesOf(at.block, at.iteration, at.warp) : [];
  if (chosen.steps) drawAccess(lanes);
  const maps = chosen.matrices.map((place) => readJson("warps").matrices[place]);
  $("#matrices").hidden = !maps.length;
  if (maps.length) showMatrices(maps, chosen.steps ? chosen : null, lanes);
}

function drawAccess(lanes) {
  const { iterations, all_iterations: all, warps } = chosen.steps;
  const loops = words(iterations[at.iteration]);
  $("#warp-loops").textContent = all > 1 ? `${loops}, ${at.iteration + 1} of ${all.toLocaleString("en")}${all > iterations.length ? `, the first ${iterations.length} are here` : ""}` : "";
  $("#warp-count").textContent = warps > 1 ? `${at.warp + 1} of ${warps}` : "";
  for (const drawing of ["#warp-words", "#warp-drawing"]) $(drawing).hidden = !chosen.known;
  drawShared(lanes);
  if (!chosen.known) {
    $("#warp-tile").hidden = true;
    return;
  }
  $("#warp-words").textContent = `${memoryWords(lanes, chosen)}: ${runs(lanes)}`;
  $("#warp-drawing").replaceChildren(drawMemory(lanes, chosen));
  follow($("#warp-drawing"));
  const tiled = chosen.shape.length > 0;
  $("#warp-tile").hidden = !tiled;
  if (!tiled) return;
  const now = elementsOf(at.block, at.iteration);
  const earlier = new Set(Array.from({ length: at.iteration }, (_, iteration) => [...elementsOf(at.block, iteration)]).flat());
  const layers = { before: earlier, now, warp: touched([lanes]) };
  $("#warp-tile-words").textContent = tileWords(layers, chosen.shape);
  $("#warp-tile-drawing").replaceChildren(drawTile(layers, chosen.shape));
}

/** The banks of shared memory, now and before the edit. */
function drawShared(lanes) {
  $("#warp-banks").hidden = !isShared(chosen);
  if (!isShared(chosen)) return;
  const phases = phasesOf(lanes, chosen.size);
  $("#warp-banks-words").textContent = `${bankWords(phases)}${before ? `; before the edit ${bankWords(before.phases)}` : ""}.`;
  $("#warp-banks-drawing").replaceChildren(drawBanks(phases));
  $("#warp-banks-before").hidden = !before;
  $("#warp-banks-before-drawing").replaceChildren(...(before ? [drawBanks(before.phases)] : []));
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
const words = (position) => Object.entries(position).map(([name, value]) => `${name.replace("Idx_", "Idx.")} = ${value}`).join(", ") || "one";
