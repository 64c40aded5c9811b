// What a block touches of a matrix: now, in the iterations before, and the warp that is looked at.
import { svgElement } from "../dom.js";

const [WIDTH, HEIGHT] = [260, 200]; // at most
const MIN_SIDE = 1.2; // of anything that is drawn
const MAX_SCALE = 12;
const VECTOR_COLUMNS = 64; // a vector is drawn in rows of so many elements

/** Rows and columns of the drawing: the last axis runs across, all others down. */
function extents(shape) {
  const elements = shape.reduce((product, extent) => product * extent, 1);
  const columns = shape.length > 1 ? shape.at(-1) : Math.min(elements, Math.max(VECTOR_COLUMNS, Math.ceil(Math.sqrt(elements))));
  return { rows: Math.ceil(elements / columns), columns };
}

/** The drawing.
 * @param {{before: Set<number>, now: Set<number>, warp: Set<number>}} layers  flat positions of elements
 * @param {number[]} shape */
export function drawTile(layers, shape) {
  const { rows, columns } = extents(shape);
  const scale = Math.min(WIDTH / columns, HEIGHT / rows, MAX_SCALE);
  const [width, height] = [Math.max(columns * scale, MIN_SIDE), Math.max(rows * scale, MIN_SIDE)];
  const svg = svgElement("svg", { width: width + 2, height: height + 2, viewBox: `-1 -1 ${width + 2} ${height + 2}`, "aria-hidden": "true" });
  svg.append(svgElement("rect", { class: "matrix", width, height }));
  for (const [name, elements] of Object.entries(layers)) svg.append(svgElement("path", { class: name, d: outline(elements, columns, scale) }));
  return svg;
}

/** A rectangle for each run of neighbours in a row. */
function outline(elements, columns, scale) {
  const sorted = [...elements].sort((a, b) => a - b);
  const runs = [];
  for (const place of sorted) {
    const last = runs.at(-1);
    if (last && last.end === place && place % columns) last.end = place + 1;
    else runs.push({ begin: place, end: place + 1 });
  }
  const side = Math.max(scale, MIN_SIDE);
  return runs.map(({ begin, end }) => {
    const width = Math.max((end - begin) * scale, MIN_SIDE);
    return `M${(begin % columns) * scale} ${Math.floor(begin / columns) * scale}h${width}v${side}h${-width}z`;
  }).join("");
}

/** What the drawing shows, in a sentence. */
export function tileWords({ before, now }, shape) {
  if (!now.size) return "The block touches nothing in this iteration.";
  const { columns } = extents(shape);
  const sofar = new Set([...before, ...now]).size;
  const place = shape.length > 1 ? `rows ${span([...now].map((at) => Math.floor(at / columns)))}, columns ${span([...now].map((at) => at % columns))}` : `elements ${span([...now])}`;
  const whole = shape.map((extent) => extent.toLocaleString("en")).join(" × ");
  return `The block touches ${now.size.toLocaleString("en")} elements of ${whole}: ${place}; ${sofar.toLocaleString("en")} so far.`;
}

function span(values) {
  const [low, high] = values.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [Infinity, -Infinity]);
  return low === high ? String(low) : `${low} to ${high}`;
}
