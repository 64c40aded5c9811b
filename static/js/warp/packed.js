// The layout of a buffer: where the elements of a tensor are in memory or in a tile register, and which elements a cache line has.
import { $, $$, element, readJson, svgElement } from "../dom.js";
import { on } from "../state.js";

const LINE = 64; // bytes of a cache line
const TINTS = 8;
const HEIGHT = 18;
const [LEFT, TOP, CHARACTER] = [34, 14, 6.2];
let shown = null;

on("answered", () => {
  if (!shown || !$("#layouts") || !$("#layout").hidden) return;
  shown = readJson("layouts").find(({ name }) => name === shown.name) ?? null;
  if (shown) draw();
});
document.addEventListener("input", ({ target }) => { if (target.id === "layout-place") point(Number(target.value)); });
for (const event of ["pointerover", "click"]) {
  document.addEventListener(event, ({ target }) => {
    const cell = target.closest?.("#layout-grids [data-place]");
    if (cell) point(Number(cell.dataset.place));
  });
}

/** Draw the layout that a button stands for. */
export function choose({ dataset }) {
  shown = readJson("layouts")[dataset.layout];
  draw();
  $("#layout").scrollIntoView({ block: "nearest" });
}

function draw() {
  const { name, source, shape, packed, dtype, memory, is_tile: isTile } = shown;
  $("#layout").hidden = false;
  $("#layout-title").textContent = name;
  $("#layout-facts").textContent = `${packed.join(" × ")} ${dtype}${isTile ? ` in rows of ${LINE} bytes` : `, strides ${strides(packed).join(", ")}`}; ${source || "its elements"}: ${shape.join(" × ")}`;
  $("#layout-grids").replaceChildren(drawTensor(), drawLines());
  $("#layout-table").replaceChildren(...table());
  Object.assign($("#layout-place"), { max: String(memory.length - 1), value: "0" });
  point(0);
}

const strides = (shape) => shape.map((_, axis) => shape.slice(axis + 1).reduce((product, extent) => product * extent, 1));

/** The index of an element by its position: of 21 in 4 × 16, [1, 5]. */
const unravel = (position, shape) => strides(shape).map((stride, axis) => Math.floor(position / stride) % shape[axis]);

const perLine = () => LINE / shown.element;

/** The tensor's elements, each with its place. */
function drawTensor() {
  const { rows, columns, offsets, axes, shape, source } = shown;
  const fixed = shape.map((_, axis) => (axis === axes[0] ? "row" : axis === axes[1] ? "column" : "0")).join(", ");
  const cells = offsets.map((place, at) => ({ row: Math.floor(at / columns), column: at % columns, text: place < 0 ? "·" : String(place), place }));
  const rest = rows * columns < shape.reduce((product, extent) => product * extent, 1) ? ", its first part" : "";
  return figure(`${source || "Element"} [${fixed}] → place${rest}`, grid(cells, rows, columns, (row) => String(row)));
}

/** Memory as it lies, a row for each cache line. */
function drawLines() {
  const each = perLine();
  const cells = shown.memory.map((position, place) => ({ row: Math.floor(place / each), column: place % each, text: position < 0 ? "·" : unravel(position, shown.shape).join(","), place }));
  return figure(shown.is_tile ? `${shown.name} in its register, rows of ${LINE} bytes` : `${shown.name} in memory, a cache line of ${LINE} bytes in each row`, grid(cells, Math.ceil(shown.memory.length / each), each, (row) => String(row * LINE)));
}

function figure(title, drawing) {
  const box = element("div", { class: "grid scroll", tabindex: "0", role: "img", "aria-label": `${title}; the table below has the same` });
  box.append(drawing);
  return element("figure", {}, element("figcaption", {}, title), box);
}

function grid(cells, rows, columns, named) {
  const width = Math.max(18, Math.max(...cells.map(({ text }) => text.length)) * CHARACTER + 6);
  const svg = svgElement("svg", { width: LEFT + columns * width + 2, height: TOP + rows * HEIGHT + 2, "aria-hidden": "true" });
  for (let column = 0; column < columns; column += 1) svg.append(svgElement("text", { x: LEFT + (column + 0.5) * width, y: TOP - 4, "text-anchor": "middle" }, String(column)));
  for (let row = 0; row < rows; row += 1) svg.append(svgElement("text", { x: LEFT - 4, y: TOP + (row + 0.7) * HEIGHT, "text-anchor": "end" }, named(row)));
  for (const { row, column, text, place } of cells) {
    const group = svgElement("g", place < 0 ? { class: "free" } : { class: `tint-${(Math.floor(place / perLine()) % TINTS) + 1}`, "data-place": place });
    group.append(svgElement("rect", { x: LEFT + column * width, y: TOP + row * HEIGHT, width, height: HEIGHT }));
    group.append(svgElement("text", { class: "thread", x: LEFT + (column + 0.5) * width, y: TOP + row * HEIGHT + 12.5 }, text));
    svg.append(group);
  }
  return svg;
}

/** Light a place in both drawings, and tell what it holds. */
function point(place) {
  for (const cell of $$("#layout-grids g")) cell.classList.toggle("lit", cell.dataset.place === String(place));
  if (place < shown.memory.length) $("#layout-place").value = String(place);
  $("#layout-words").textContent = `${holds(place)} is at ${shown.name}[${unravel(place, shown.packed).join(", ")}]: place ${place}, byte ${place * shown.element}, ${shown.is_tile ? "row" : "cache line"} ${Math.floor((place * shown.element) / LINE)}.`;
}

function holds(place) {
  const at = shown.offsets.indexOf(place);
  const position = shown.memory[place] ?? (at < 0 ? -1 : positionOf(at));
  return position < 0 ? "Padding" : `${shown.source || "Element "}[${unravel(position, shown.shape).join(", ")}]`;
}

/** The position in the tensor of a drawn element. */
function positionOf(at) {
  const { axes, columns, shape } = shown;
  const steps = strides(shape);
  return axes[0] === axes[1] ? at * steps[axes[0]] : Math.floor(at / columns) * steps[axes[0]] + (at % columns) * steps[axes[1]];
}

function table() {
  const each = perLine();
  const lines = Array.from({ length: Math.ceil(shown.memory.length / each) }, (_, line) => shown.memory.slice(line * each, (line + 1) * each));
  const head = element("tr", {}, element("th", { scope: "col" }, "from byte"), element("th", { scope: "col" }, "elements"));
  const rows = lines.map((line, at) => element("tr", {}, element("th", { scope: "row" }, String(at * LINE)), element("td", {}, line.map((position) => (position < 0 ? "padding" : `[${unravel(position, shown.shape).join(", ")}]`)).join(" "))));
  return [element("thead", {}, head), element("tbody", {}, ...rows)];
}
