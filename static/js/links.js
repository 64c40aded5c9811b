// Which lines belong together.  Pure: no document in here.

/** @typedef {{loops: Set<number>, graphs: Set<number>, sources: Set<number>, accessed: Set<number>}} Footprint lines of the
 * final loop IR, nodes of an imported graph, and lines of the source that something came from; and the lines of the source
 * that made the memory which it loads from or stores to */

/**
 * Two lines link when they share a line of the final loop IR, or, where one of them does not know it, a node of an
 * imported graph, or else a line of the source.  Origins form a graph: a row of level "loop" has rows of level "source"
 * among its ancestors.
 */
export class LinkModel {
  constructor() {
    this.rows = new Map();
    this.panes = new Map();
    this.uses = new Map();
    this.tints = new Map();
    this.nodeTints = new Map();
    this.nodes = []; // of an imported graph, in its order
  }

  setOrigins(rows) {
    this.rows = new Map(rows.map(([id, level, line, parents]) => [id, { level, line, parents }]));
    const of = (kind) => rows.filter(([, level]) => level === kind).map(([id]) => id).sort((a, b) => a - b);
    this.nodes = of("graph");
    this.nodeTints = new Map();
    this.uses = new Map();
    for (const loop of of("loop")) for (const line of this.footprint([loop]).sources) this.uses.set(line, (this.uses.get(line) ?? 0) + 1);
  }

  /** Take the links of a pane.
   * @param {string} pane
   * @param {{sets: number[][], lines: number[]}} links distinct sets of origins, and the number of the set of each line */
  setPane(pane, links) {
    const footprints = links.sets.map((origins) => this.footprint(origins));
    this.panes.set(pane, { lines: links.lines, footprints });
  }

  /** What some origins come from.
   * @param {number[]} origins
   * @returns {Footprint} */
  footprint(origins) {
    const loops = new Set();
    const graphs = new Set();
    const sources = new Set();
    const accessed = new Set();
    const seen = new Set();
    const todo = [...origins];
    while (todo.length) {
      const id = todo.pop();
      const row = this.rows.get(id);
      if (!row || seen.has(id)) continue;
      seen.add(id);
      if (row.level === "memory") {
        for (const parent of row.parents) if (this.rows.get(parent)?.line) accessed.add(this.rows.get(parent).line);
        continue; // it is not an origin: loads of a placeholder are not made from it
      }
      if (row.level === "loop" && row.line) loops.add(row.line);
      if (row.level === "graph") graphs.add(id);
      if (row.level === "source" && row.line) sources.add(row.line);
      todo.push(...row.parents);
    }
    // Of a model and its nodes, the nodes say where something came from.
    for (const id of [...graphs]) for (const parent of this.rows.get(id).parents) graphs.delete(parent);
    return { loops, graphs, sources, accessed };
  }

  /** What an axis of the schedule is: its own loop, or, where it became none, the line of the script that made it so.
   * @param {number[]} origins
   * @returns {Footprint} */
  axis(origins) {
    const rows = origins.map((id) => this.rows.get(id)).filter(Boolean);
    if (rows.some(({ level }) => level === "loop")) return this.footprint(origins);
    const lines = rows.map(({ line }) => line).filter(Boolean);
    return fromSource(lines.length ? [this.primary({ sources: new Set(lines) })] : []);
  }

  /** The footprint of a line.
   * @param {string} pane
   * @param {number} index
   * @returns {Footprint} */
  of(pane, index) {
    const links = this.panes.get(pane);
    return links?.footprints[links.lines[index]] ?? EMPTY;
  }

  /** Numbers of the sets of a pane that link to a footprint.
   * @param {string} pane
   * @param {Footprint} footprint
   * @returns {Set<number>} */
  relatedSets(pane, footprint) {
    const related = new Set();
    this.panes.get(pane)?.footprints.forEach((mine, number) => {
      if (meets(mine, footprint)) related.add(number);
    });
    return related;
  }

  /** Indices of the lines of a pane that link to a footprint.
   * @param {string} pane
   * @param {Footprint} footprint
   * @returns {number[]} */
  relatedLines(pane, footprint) {
    const sets = this.relatedSets(pane, footprint);
    const lines = [];
    this.panes.get(pane)?.lines.forEach((set, index) => { if (sets.has(set)) lines.push(index); });
    return lines;
  }

  /** Give each source line that is the primary origin of something the tint that it has in the script.
   * @param {string} script
   * @param {number} count how many tints there are */
  colour(script, count) {
    const tints = tintsOf(script, count);
    const all = [...this.panes.values()].flatMap(({ footprints }) => footprints).filter(({ sources }) => sources.size);
    this.tints = new Map(all.map((footprint) => this.primary(footprint)).map((line) => [line, tints[line - 1]]));
    // The nodes of an imported graph all come from one line: they have colours of their own, those that are 8 apart too.
    this.nodes.forEach((node, at) => this.nodeTints.set(node, ((at + Math.floor(at / count)) % count) + 1));
  }

  /** The most specific line: the one that the fewest loops come from; among equals the latest, as primitives follow definitions. */
  primary({ sources }) {
    const uses = (line) => this.uses.get(line) ?? 0;
    return [...sources].sort((a, b) => uses(a) - uses(b) || b - a)[0];
  }

  tintOf(footprint) {
    if (footprint.graphs.size) return this.nodeTints.get(Math.max(...footprint.graphs));
    return footprint.sources.size ? this.tints.get(this.primary(footprint)) : undefined;
  }

  tintOfSet(pane, set) {
    return this.tintOf(this.panes.get(pane)?.footprints[set] ?? EMPTY);
  }
}

const MAKES = /\(|\] \+?=/;
const MAKES_NOTHING = /^\s*(#|import\b|from\b|print\b)|create_schedule|\b(build|lower)\(/;

/** The tint of each line: of those that may make something, one after another have different ones.  They are the script's
 * alone, so that two who look at it speak of the same colours, and they stay when a line is edited or panes show another step.
 * @param {string} script
 * @param {number} count how many tints there are */
export function tintsOf(script, count) {
  let made = 0;
  return script.split("\n").map((text) => ((MAKES.test(text) && !MAKES_NOTHING.test(text) ? made++ : made) % count) + 1);
}

export const EMPTY = { loops: new Set(), graphs: new Set(), sources: new Set(), accessed: new Set() };
export const fromSource = (lines) => ({ ...EMPTY, sources: new Set(lines) });
export const isEmpty = (footprint) => !footprint.loops.size && !footprint.graphs.size && !footprint.sources.size;

function overlap(mine, theirs) {
  for (const line of mine) if (theirs.has(line)) return true;
  return false;
}

export function meets(a, b) {
  const level = ["loops", "graphs"].find((name) => a[name].size && b[name].size);
  if (level) return overlap(a[level], b[level]);
  return overlap(a.sources, b.sources) || overlap(a.accessed, b.sources) || overlap(a.sources, b.accessed);
}
