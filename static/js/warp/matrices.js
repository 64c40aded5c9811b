// The matrices of an instruction of tensor cores: which thread of the warp has which element, in which register and from which byte.
import { $, $$, element, svgElement } from "../dom.js";

const [WIDTH, HEIGHT] = [25, 22];
const [LEFT, TOP] = [24, 14]; // before the cells: rows and columns
const LANES = 32;
const BANK = 4;
let shown = { maps: [], access: null, lanes: [] };

/** Draw the matrices beside each other.
 * @param {object[]} maps
 * @param {?object} access  what is loaded or stored from memory
 * @param {number[]} lanes  the first byte of each lane */
export function showMatrices(maps, access, lanes) {
  shown = { maps, access, lanes };
  const notes = [...new Set(maps.map(({ note }) => note).filter(Boolean))];
  $("#matrix-notes").textContent = notes.join(" ");
  $("#matrix-grids").replaceChildren(...maps.map((map, at) => {
    const drawing = element("div", { class: "grid scroll", tabindex: "0", role: "img", "aria-label": `${map.name}: ${map.rows} × ${map.columns}, the thread and the element of each cell; the table below has the same` });
    drawing.append(drawMatrix(map, at));
    return element("figure", {}, element("figcaption", {}, element("strong", {}, map.name), ` ${map.rows} × ${map.columns} ${map.dtype}`), drawing);
  }));
  const known = maps.every((map) => map.lanes.length);
  for (const part of $$("#matrices details, #matrices .controls")) part.hidden = !known;
  $("#matrix-table").replaceChildren(...(known ? table(maps) : []));
  if (known) point(Number($("#matrix-lane").value));
  else $("#matrix-words").textContent = "";
}

/** Follow the pointer over cells, and the slider of threads. */
export function startMatrices() {
  const follow = ({ target }) => {
    const cell = target.closest?.("#matrix-grids [data-cell]");
    if (!cell) return;
    if (cell.dataset.lane) $("#matrix-lane").value = cell.dataset.lane;
    point(Number(cell.dataset.lane), cell);
  };
  for (const event of ["pointerover", "click"]) document.addEventListener(event, follow);
  document.addEventListener("input", ({ target }) => { if (target.id === "matrix-lane") point(Number(target.value)); });
}

function drawMatrix({ rows, columns, lanes, numbers }, at) {
  const svg = svgElement("svg", { width: LEFT + columns * WIDTH + 2, height: TOP + rows * HEIGHT + 2, "aria-hidden": "true" });
  for (let column = 0; column < columns; column += 1) svg.append(svgElement("text", { class: "axis", x: LEFT + (column + 0.5) * WIDTH, y: TOP - 4, "text-anchor": "middle" }, String(column)));
  for (let row = 0; row < rows; row += 1) {
    svg.append(svgElement("text", { class: "axis", x: LEFT - 4, y: TOP + (row + 0.65) * HEIGHT, "text-anchor": "end" }, String(row)));
    for (let column = 0; column < columns; column += 1) {
      const place = row * columns + column;
      svg.append(drawCell(LEFT + column * WIDTH, TOP + row * HEIGHT, { lane: lanes[place], number: numbers[place], cell: place, matrix: at }));
    }
  }
  return svg;
}

/** Neighbours in a row, and above each other, have different tints.  Where no lane is known, a cell has its bank. */
function drawCell(left, top, { lane, number, cell, matrix }) {
  if (lane === undefined) return drawUnknown(left, top, cell, matrix);
  const tint = ((lane % 4) * 2 + (Math.floor(lane / 4) % 2)) + 1;
  const group = svgElement("g", { class: `tint-${tint}`, "data-lane": lane, "data-cell": cell, "data-matrix": matrix });
  group.append(
    svgElement("rect", { x: left, y: top, width: WIDTH, height: HEIGHT }),
    svgElement("text", { class: "thread", x: left + WIDTH / 2, y: top + 11 }, String(lane)),
    svgElement("text", { class: "number", x: left + WIDTH / 2, y: top + 19 }, `${shown.maps[matrix].letter}${number}`),
  );
  return group;
}

function drawUnknown(left, top, cell, matrix) {
  const map = shown.maps[matrix];
  const byte = byteOf(map, Math.floor(cell / map.columns), cell % map.columns);
  const group = svgElement("g", { class: byte === null ? "free" : `tint-${(bankOf(byte) % 8) + 1}`, "data-cell": cell, "data-matrix": matrix });
  group.append(svgElement("rect", { x: left, y: top, width: WIDTH, height: HEIGHT }));
  if (byte !== null) group.append(svgElement("text", { class: "thread", x: left + WIDTH / 2, y: top + 14 }, String(bankOf(byte))));
  return group;
}

const bankOf = (byte) => Math.floor(byte / BANK) % LANES;

/** Light the elements of a thread, and tell where they are, or where one of them is. */
function point(lane, cell) {
  for (const each of $$("#matrix-grids [data-lane]")) each.classList.toggle("lit", Number(each.dataset.lane) === lane);
  if (!Number.isNaN(lane)) $("#matrix-thread").textContent = String(lane);
  $("#matrix-words").textContent = cell ? elementWords(cell.dataset) : threadWords(lane);
}

function elementWords({ lane, cell, matrix }) {
  const map = shown.maps[matrix];
  const [row, column] = [Math.floor(cell / map.columns), cell % map.columns];
  const number = map.numbers[cell];
  const byte = byteOf(map, row, column);
  const where = byte === null ? "" : ` It is at byte ${byte} of ${shown.access.buffer}${shown.access.scope === "global" ? "" : `, in bank ${bankOf(byte)}`}.`;
  if (lane === undefined) return `${map.name}, row ${row}, column ${column}.${where}`;
  return `${map.name}, row ${row}, column ${column}: thread ${lane} has it as ${map.letter}${number}, in its register ${Math.floor(number / map.per_register)}.${where}`;
}

/** The byte of memory where an element is; null of an operand in registers. */
function byteOf(map, row, column) {
  const { access, lanes } = shown;
  if (!access || !lanes.length) return null;
  if (map.strides) return lanes[0] < 0 ? null : lanes[0] + row * map.strides[0] + column * map.strides[1];
  if (map.address_lane === null) return null;
  const first = lanes[map.address_lane + row];
  return first < 0 ? null : first + column * access.element;
}

function threadWords(lane) {
  return `Thread ${lane} has ${shown.maps.map((map) => `of ${map.name} ${elementsOf(map, lane).join(", ")}`).join("; ")}.`;
}

/** The elements of a thread by number, with row and column. */
function elementsOf({ lanes, numbers, columns, letter }, lane) {
  const own = [];
  lanes.forEach((owner, cell) => { if (owner === lane) own[numbers[cell]] = `${letter}${numbers[cell]} (${Math.floor(cell / columns)}, ${cell % columns})`; });
  return own.filter(Boolean);
}

/** The same as a table: a row for each thread. */
function table(maps) {
  const head = element("tr", {}, ...["thread", ...maps.map(({ name }) => `${name}: element (row, column)`)].map((word) => element("th", { scope: "col" }, word)));
  const rows = Array.from({ length: LANES }, (_, lane) => element("tr", {}, element("th", { scope: "row" }, String(lane)), ...maps.map((map) => element("td", {}, elementsOf(map, lane).join(", ")))));
  return [element("thead", {}, head), element("tbody", {}, ...rows)];
}
