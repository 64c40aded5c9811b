// One warp over the memory that it touches: a row is a cache line of 128 bytes, or one word of each bank.
import { counted, svgElement } from "../dom.js";

const LINE = 128; // bytes of a row
const WORD = 4;
const SECTOR = 32;
const [WIDTH, HEIGHT] = [17, 16];
export const MARGIN = 74; // before the cells: what each row is called
const MAX_ROWS = 40;

/** The drawing.
 * @param {number[]} lanes  the first byte of each lane, -1 of an idle one
 * @param {{size: number, scope: string}} access */
export function drawMemory(lanes, { size, scope }) {
  const words = byWord(lanes, size);
  const shown = rowsOf(words).slice(0, MAX_ROWS);
  const svg = svgElement("svg", { width: MARGIN + WIDTH * (LINE / WORD) + 4, height: HEIGHT * (shown.length + 1) + 4, "aria-hidden": "true" });
  for (let column = 0; column < LINE / WORD; column += 2) label(svg, MARGIN + column * WIDTH + WIDTH / 2, HEIGHT - 4, String(scope === "global" ? column * WORD : column), "middle");
  shown.forEach((row, place) => drawRow(svg, row, HEIGHT * (place + 1), words, scope));
  return svg;
}

/** What the drawing shows, in a sentence. */
export function memoryWords(lanes, { size, scope }) {
  const words = byWord(lanes, size);
  if (scope === "global") {
    const sectors = new Set([...words.keys()].map((word) => Math.floor((word * WORD) / SECTOR)));
    const rows = rowsOf(words).length;
    const cut = rows > MAX_ROWS ? `; the first ${MAX_ROWS} of ${rows} lines are drawn` : "";
    return `${counted(words.size, "word")} in ${counted(sectors.size, "sector")} of ${SECTOR} bytes${cut}`;
  }
  const banks = new Map();
  for (const word of words.keys()) banks.set(word % (LINE / WORD), (banks.get(word % (LINE / WORD)) ?? 0) + 1);
  return `${counted(words.size, "word")} in ${counted(banks.size, "bank")}, at most ${Math.max(0, ...banks.values())} in one`;
}


const rowsOf = (words) => [...new Set([...words.keys()].map((word) => Math.floor((word * WORD) / LINE)))].sort((a, b) => a - b);

/** The lanes that touch each word of four bytes. */
function byWord(lanes, size) {
  const words = new Map();
  lanes.forEach((address, lane) => {
    if (address < 0) return;
    for (let word = Math.floor(address / WORD); word * WORD < address + size; word += 1) words.set(word, [...(words.get(word) ?? []), lane]);
  });
  return words;
}

function drawRow(svg, row, top, words, scope) {
  label(svg, MARGIN - 6, top + 11, `byte ${row * LINE}`, "end");
  for (let column = 0; column < LINE / WORD; column += 1) drawWord(svg, MARGIN + column * WIDTH, top, words.get((row * LINE) / WORD + column) ?? []);
  if (scope !== "global") return;
  for (let sector = 0; sector < LINE / SECTOR; sector += 1) {
    const first = (row * LINE + sector * SECTOR) / WORD;
    const touched = Array.from({ length: SECTOR / WORD }, (_, at) => words.has(first + at)).some(Boolean);
    svg.append(svgElement("rect", { class: touched ? "sector touched" : "sector", x: MARGIN + sector * WIDTH * (SECTOR / WORD), y: top, width: WIDTH * (SECTOR / WORD), height: HEIGHT }));
  }
}

function drawWord(svg, left, top, lanes) {
  const kind = lanes.length > 1 ? "several" : lanes.length ? "one" : "none";
  const cell = svgElement("rect", { class: `cell ${kind}`, x: left, y: top, width: WIDTH, height: HEIGHT });
  cell.append(svgElement("title", {}, lanes.length ? `lane ${lanes.join(", ")}` : "no lane"));
  svg.append(cell);
  if (lanes.length) svg.append(svgElement("text", { class: `lane ${kind}`, x: left + WIDTH / 2, y: top + 11 }, lanes.length > 1 ? `×${lanes.length}` : String(lanes[0])));
}

function label(svg, x, y, text, anchor) {
  svg.append(svgElement("text", { x, y, "text-anchor": anchor }, text));
}
