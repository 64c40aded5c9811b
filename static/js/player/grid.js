// Draws the elements of a buffer as cells.  What a cell is says its pattern, not its colour alone: what is read has a dot,
// what is written a diagonal, lanes have numbers, and what a thread wrote has the hatching of its iteration.
import { element } from "../dom.js";

const GAP = 1;
const MAX_CELL = 22;
const MIN_CELL = 3;
const MAX_HEIGHT = 360; // of a buffer; a larger one scrolls
const NUMBERED = 13; // least size of a cell with the number of a lane
const TRAIL = [2, 8, 32]; // steps since the last use, for each shade

/** How the dimensions of a buffer are folded into two. */
export function folded({ shape, local }) {
  const size = shape.reduce((all, extent) => all * extent, 1);
  if (shape.length < 2) {
    const columns = size <= 32 ? size : 2 ** Math.ceil(Math.log2(Math.sqrt(size)));
    const note = size <= 32 ? "" : local ? `${size} elements in rows of ${columns}` : `one dimension, in rows of ${columns}`;
    return { rows: Math.ceil(size / columns) || 1, columns: columns || 1, size, note };
  }
  const cuts = shape.slice(1).map((_, at) => {
    const columns = shape.slice(at + 1).reduce((all, extent) => all * extent, 1);
    return { at: at + 1, columns, rows: size / columns };
  });
  const best = cuts.reduce((a, b) => (Math.abs(Math.log(a.columns / a.rows)) <= Math.abs(Math.log(b.columns / b.rows)) ? a : b));
  const names = (from, to) => (to - from > 1 ? `dimensions ${from}–${to - 1}` : `dimension ${from}`);
  const note = shape.length > 2 ? `rows: ${names(0, best.at)}; columns: ${names(best.at, shape.length)}` : "";
  return { rows: best.rows, columns: best.columns, size, note };
}

/** The indices of an element, e.g. `2, 3`. */
export function indices({ shape }, flat) {
  const parts = [];
  let rest = flat;
  for (const extent of [...shape].reverse()) {
    parts.unshift(rest % extent);
    rest = Math.floor(rest / extent);
  }
  return parts.join(", ");
}

export class Grid {
  constructor(memory, room) {
    this.memory = memory;
    this.fold = folded(memory);
    const { rows, columns } = this.fold;
    this.cell = Math.max(MIN_CELL, Math.min(MAX_CELL, Math.floor(room / columns) - GAP, Math.floor(340 / rows) - GAP));
    this.pitch = this.cell + GAP;
    this.canvas = element("canvas", { role: "img" });
    const scale = devicePixelRatio || 1;
    this.canvas.width = (columns * this.pitch + GAP) * scale;
    this.canvas.height = (rows * this.pitch + GAP) * scale;
    this.canvas.style.width = `${columns * this.pitch + GAP}px`;
    this.canvas.style.height = `${rows * this.pitch + GAP}px`;
    this.context = this.canvas.getContext("2d");
    this.context.scale(scale, scale);
    const original = memory.original.length && memory.original.join() !== memory.shape.join() ? ` in place of ${memory.original.join(" × ")}` : "";
    const caption = element("figcaption", {}, element("strong", {}, memory.name), ` ${memory.shape.join(" × ")} ${memory.dtype}${original}`);
    if (this.fold.note) caption.append(element("small", {}, this.fold.note));
    const scrolls = columns * this.pitch > room || rows * this.pitch > MAX_HEIGHT;
    const cells = element("div", scrolls ? { class: "cells", tabindex: "0", role: "group", "aria-label": `${memory.name}, scrollable` } : { class: "cells" }, this.canvas);
    this.box = element("figure", {}, caption, cells);
  }

  at(flat) {
    return { x: GAP + (flat % this.fold.columns) * this.pitch, y: GAP + Math.floor(flat / this.fold.columns) * this.pitch };
  }

  /** Draw all cells as they are after a step.
   * @param {Int32Array} touched the step of each element's last use
   * @param {Int16Array} owner the iteration of a parallel loop that wrote it
   * @param {number} step
   * @param {{site: object, elements: number[]}[]} accesses of this step to this memory */
  draw(touched, owner, step, accesses, colours, still) {
    const { context, cell } = this;
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    for (let flat = 0; flat < this.fold.size; flat += 1) {
      const { x, y } = this.at(flat);
      const age = touched[flat] < 0 ? -1 : step - touched[flat];
      const shade = still ? TRAIL.length : TRAIL.findIndex((steps) => age <= steps);
      context.fillStyle = age < 0 ? colours.empty : colours.trail[shade < 0 ? TRAIL.length : shade];
      context.fillRect(x, y, cell, cell);
      if (owner[flat] >= 0) hatch(context, x, y, cell, owner[flat], colours.hatch);
    }
    for (const { site, elements } of accesses) elements.forEach((flat, lane) => this.#access(flat, site, lane, elements.length, colours));
    const told = accesses.map(({ site, elements }) => `${site.write ? "writes" : "reads"} ${elements.map((flat) => `[${indices(this.memory, flat)}]`).join(" ")}`);
    this.canvas.setAttribute("aria-label", `${this.memory.name}, ${this.memory.shape.join(" by ")}: ${told.join("; ") || "not touched by this step"}`);
  }

  #access(flat, { write }, lane, lanes, colours) {
    if (flat < 0 || flat >= this.fold.size) return;
    const { context, cell } = this;
    const { x, y } = this.at(flat);
    context.fillStyle = write ? colours.write : colours.read;
    context.fillRect(x, y, cell, cell);
    context.strokeStyle = colours.ink;
    context.lineWidth = 1.5;
    context.strokeRect(x + 0.5, y + 0.5, cell - 1, cell - 1);
    if (cell < 6) return;
    context.fillStyle = context.strokeStyle = write ? colours.onWrite : colours.onRead;
    if (lanes > 1 && cell >= NUMBERED) {
      context.font = `${Math.min(11, cell - 4)}px monospace`;
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillText(String(lane), x + cell / 2, y + cell / 2 + 1);
    } else if (!write) {
      context.beginPath();
      context.arc(x + cell / 2, y + cell / 2, cell / 6, 0, 2 * Math.PI);
      context.fill();
    }
    if (write) {
      context.beginPath();
      context.moveTo(x + 1, y + cell - 1);
      context.lineTo(x + (lanes > 1 ? cell / 3 : cell - 1), y + (lanes > 1 ? (2 * cell) / 3 : 1));
      context.stroke();
    }
  }
}

/** Lines in one of six ways, by the number of a thread. */
function hatch(context, x, y, cell, thread, colour) {
  if (cell < 6) return;
  const way = thread % 6;
  const [left, middle, right] = [x + 1, x + cell / 2, x + cell - 1];
  const [top, centre, bottom] = [y + 1, y + cell / 2, y + cell - 1];
  const lines = [
    [[left, bottom, right, top]], [[left, top, right, bottom]], [[left, centre, right, centre]], [[middle, top, middle, bottom]],
    [[left, centre, right, centre], [middle, top, middle, bottom]], [[left, bottom, right, top], [left, top, right, bottom]],
  ][way];
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (const [x1, y1, x2, y2] of lines) {
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
  }
  context.stroke();
}

/** The colours of the page's theme. */
export function coloursOf(node) {
  const style = getComputedStyle(node);
  const colour = (name) => style.getPropertyValue(name).trim();
  return {
    ink: colour("--ink"), empty: colour("--bg"), read: colour("--accent"), onRead: colour("--accent-ink"), write: colour("--heat"), onWrite: colour("--on-heat"),
    hatch: colour("--mute"), trail: [colour("--trail-1"), colour("--trail-2"), colour("--trail-3"), colour("--trail-4")],
  };
}
