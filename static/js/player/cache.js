// What modelled caches make of the accesses: until now, and in all.
import { element } from "../dom.js";

const KINDS = ["hit", "compulsory", "capacity", "conflict"];
const KIND_WORDS = { hit: "hits", compulsory: "compulsory", capacity: "capacity", conflict: "conflict" };

export const number = (value) => value.toLocaleString("en-US");

export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  let amount = value;
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${Number(amount.toPrecision(3))} ${units[unit]}`;
}

/** Which level had the line of an access, in words. */
export function servedBy(model, event) {
  const level = model.served[event];
  const name = model.levels[level]?.name;
  if (level === 0) return `${name} hit`;
  return `${KINDS[model.kinds[event]]} miss, from ${name ?? "memory"}`;
}

/** The parts of the panel that change with each step. */
export function live(model, served, kinds) {
  const all = served.reduce((sum, count) => sum + count, 0) || 1;
  const names = [...model.levels.map(({ name }) => name), "memory"];
  const rows = served.map((count, at) => row(names[at], count, all, `level-${Math.min(at, 3)}`));
  const misses = KINDS.slice(1).map((kind, at) => row(KIND_WORDS[kind], kinds[at + 1], all, kind));
  return [heading("Accesses so far, by the level that served them"), bars(rows), heading(`Misses of ${names[0]} so far, by cause`), bars(misses)];
}

function row(name, count, all, kind) {
  const share = (100 * count) / all;
  return element("tr", {}, element("th", { scope: "row" }, name), meter(share, kind), element("td", {}, number(count)), element("td", {}, `${share.toFixed(share < 10 ? 1 : 0)}%`));
}

/** A cell with a bar; its length is set by a property, as the page allows no styles in attributes. */
function meter(share, kind) {
  const bar = element("span", { class: `meter ${kind}` });
  bar.style.width = `${share.toFixed(2)}%`;
  return element("td", { class: "meter-cell" }, bar);
}

const bars = (rows) => element("table", {}, element("tbody", {}, ...rows));
const heading = (text) => element("h3", {}, text);

function table(heads, rows) {
  const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
  const body = rows.map(([first, ...rest]) => element("tr", {}, element("th", { scope: "row" }, first), ...rest.map((text) => element("td", {}, text))));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}

/** The parts that hold for the whole run. */
export function whole(trace, model) {
  const levels = model.levels.map(({ name, size, ways, hits, compulsory, capacity, conflict }) => [
    `${name}, ${bytes(size)}, ${ways} ways`, number(hits), number(compulsory), number(capacity), number(conflict),
  ]);
  const [first] = model.levels;
  const loops = trace.loops.map(({ name, kind, iterations, bytes: size }) => [
    kind === "serial" ? name : `${name} (${kind})`, number(iterations), bytes(size), model.levels.find((level) => level.size >= size)?.name ?? "none",
  ]);
  return [
    heading("The whole run, in cache lines"),
    table(["level", "hits", "compulsory", "capacity", "conflict"], levels),
    note(`${bytes(model.memory_bytes)} between the last level and memory, written lines included. ${model.name}: ${model.note}; lines of ${bytes(first.line)}, least recently used is evicted. Simulated, not measured.`),
    heading("Reuse distance: lines used between two uses of the same line"),
    histogram(model),
    heading("Footprint: the most that one iteration touches"),
    table(["loop", "iterations", "bytes", "fits in"], loops),
  ];
}

const note = (text) => element("p", { class: "hint" }, text);

function histogram(model) {
  const most = Math.max(...model.reuse.map(([, , count]) => count), 1);
  const rows = model.reuse.map(([first, last, count]) => {
    const label = first < 0 ? "first use" : first === last ? number(first) : `${number(first)}–${number(last)}`;
    const level = first < 0 ? "memory" : model.levels.find(({ size, line }) => size / line > last)?.name ?? "memory";
    const bar = meter((100 * count) / most, `level-${levelOf(model, level)}`);
    return element("tr", {}, element("th", { scope: "row" }, label), bar, element("td", {}, number(count)), element("td", {}, level));
  });
  return bars(rows);
}

const levelOf = (model, name) => { const at = model.levels.findIndex((level) => level.name === name); return at < 0 ? 3 : Math.min(at, 3); };
