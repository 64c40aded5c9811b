// One warp over the memory that it touches: a row is a cache line of 128 bytes, or one word of each bank.
import { $, readJson } from "./dom.js";
import { on } from "./state.js";

const LINE = 128; // bytes of a row
const WORD = 4;
const SECTOR = 32;
const [WIDTH, HEIGHT, MARGIN] = [17, 16, 74];
const MAX_ROWS = 40;
let chosen = null; // the access that is drawn

export function startWarp() {
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-warp]");
    if (button) choose(Number(button.dataset.warp));
  });
  document.addEventListener("input", ({ target }) => { if (target.id === "warp-step") draw(Number(target.value)); });
  on("answered", () => { chosen = null; });
}

function choose(index) {
  chosen = readJson("warps")[index];
  $("#warp").hidden = false;
  $("#warp-title").textContent = `One warp ${chosen.title}`;
  Object.assign($("#warp-step"), { max: String(chosen.steps.length - 1), value: "0" });
  draw(0);
  $("#warp").scrollIntoView({ block: "nearest" });
}

function draw(step) {
  const lanes = chosen.steps[step];
  const words = byWord(lanes, chosen.size);
  const rows = [...new Set([...words.keys()].map((word) => Math.floor((word * WORD) / LINE)))].sort((a, b) => a - b);
  const shown = rows.slice(0, MAX_ROWS);
  const svg = make("svg", { width: MARGIN + WIDTH * (LINE / WORD) + 4, height: HEIGHT * (shown.length + 1) + 4 });
  for (let column = 0; column < LINE / WORD; column += 1) label(svg, MARGIN + column * WIDTH + WIDTH / 2, HEIGHT - 4, String(chosen.scope === "global" ? column * WORD : column), "middle");
  shown.forEach((row, place) => drawRow(svg, row, HEIGHT * (place + 1), words));
  $("#warp-drawing").replaceChildren(svg);
  $("#warp-number").textContent = `${step + 1} of ${chosen.steps.length}`;
  $("#warp-words").textContent = describe(words, rows.length);
}

/** The lanes that touch each word of four bytes. */
function byWord(lanes, size) {
  const words = new Map();
  lanes.forEach((address, lane) => {
    if (address < 0) return;
    for (let word = Math.floor(address / WORD); word * WORD < address + size; word += 1) words.set(word, [...(words.get(word) ?? []), lane]);
  });
  return words;
}

function drawRow(svg, row, top, words) {
  label(svg, MARGIN - 6, top + 11, `byte ${row * LINE}`, "end");
  for (let column = 0; column < LINE / WORD; column += 1) {
    const lanes = words.get((row * LINE) / WORD + column) ?? [];
    const left = MARGIN + column * WIDTH;
    const kind = lanes.length > 1 ? " several" : lanes.length ? " one" : "";
    const cell = make("rect", { class: `cell${kind}`, x: left, y: top, width: WIDTH, height: HEIGHT });
    cell.append(make("title", {}, lanes.length ? `lane ${lanes.join(", ")}` : "no lane"));
    svg.append(cell);
    if (lanes.length) svg.append(make("text", { class: lanes.length > 1 ? "lane several" : "lane", x: left + WIDTH / 2, y: top + 11 }, lanes.length > 1 ? `×${lanes.length}` : String(lanes[0])));
  }
  if (chosen.scope !== "global") return;
  for (let sector = 0; sector < LINE / SECTOR; sector += 1) {
    const first = (row * LINE + sector * SECTOR) / WORD;
    const touched = Array.from({ length: SECTOR / WORD }, (_, at) => words.has(first + at)).some(Boolean);
    svg.append(make("rect", { class: touched ? "sector touched" : "sector", x: MARGIN + sector * WIDTH * (SECTOR / WORD), y: top, width: WIDTH * (SECTOR / WORD), height: HEIGHT }));
  }
}

/** What the drawing shows, in a sentence. */
function describe(words, rows) {
  if (chosen.scope === "global") {
    const sectors = new Set([...words.keys()].map((word) => Math.floor((word * WORD) / SECTOR)));
    const cut = rows > MAX_ROWS ? `; the first ${MAX_ROWS} of ${rows} lines are drawn` : "";
    return `${words.size} words in ${sectors.size} sectors of ${SECTOR} bytes${cut}`;
  }
  const banks = new Map();
  for (const word of words.keys()) banks.set(word % (LINE / WORD), (banks.get(word % (LINE / WORD)) ?? 0) + 1);
  return `${words.size} words in ${banks.size === 1 ? "1 bank" : `${banks.size} banks`}, at most ${Math.max(0, ...banks.values())} in one`;
}

function label(svg, x, y, text, anchor) {
  svg.append(make("text", { x, y, "text-anchor": anchor }, text));
}

function make(tag, attributes, text = "") {
  const made = document.createElementNS(document.querySelector("svg").namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  if (text) made.textContent = text;
  return made;
}
