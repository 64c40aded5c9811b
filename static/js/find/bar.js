// The field that finds words in a listing: in all of its lines, those that have not been fetched too.
import { $, $$, announce, element, widen } from "../dom.js";
import { goToLine } from "../linking.js";
import { rowHeight, topOf } from "../listings.js";
import { paneOf } from "../panes.js";
import { on } from "../state.js";

const MOST = 10_000; // matches that are counted
const MAX_MARKED = 1_000; // matches that are coloured, the nearest ones
const CURRENT = "found-current";
const FOUND = "found";
const bars = new Map(); // pane -> Bar
const texts = new Map(); // pane -> {listing, lines} of the text that was searched last

/** @typedef {{line: number, from: number, to: number}} Match */

on("answered", () => bars.forEach((bar) => bar.search()));
on("text", (pane) => bars.get(pane)?.search());
on("chunk", (pane) => bars.get(pane)?.arrived());

/** Open the field in which a pane is searched; what is selected in the pane is searched for.
 * @param {string} pane */
export function open(pane) {
  if (!bars.has(pane)) bars.set(pane, new Bar(pane));
  bars.get(pane).open();
}

/** The matches of a query, case mattering where the query has capitals.
 * @param {string[]} lines
 * @param {string} query
 * @returns {Match[]} */
function matchesOf(lines, query) {
  const pattern = new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), /\p{Lu}/u.test(query) ? "gu" : "giu");
  const found = [];
  for (let line = 0; line < lines.length && found.length < MOST; line += 1) {
    for (const match of lines[line].matchAll(pattern)) found.push({ line, from: match.index, to: match.index + match[0].length });
  }
  return found;
}

/** All lines of what a pane shows; of a difference, those of both texts. */
async function linesOf(pane) {
  const body = $(`#body-${pane}`);
  if ($(".diff", body)) return $$(".diff .l > span", body).map((span) => span.textContent);
  const { listing } = body.dataset;
  if (!listing) return [];
  if (texts.get(pane)?.listing !== listing) {
    const answer = await fetch(`/listings/${listing}/file`).catch(() => null); // null is told by the bar
    if (!answer?.ok) return null;
    texts.set(pane, { listing, lines: (await answer.text()).split("\n") });
  }
  return texts.get(pane).lines;
}

/** The characters of a line of a listing, as a range of the document; null where it has not been fetched. */
function rangeOf(body, { line, from, to }) {
  const span = $(`.l[data-i="${line}"] > span`, body);
  if (!span) return null;
  const range = new Range();
  const walker = document.createTreeWalker(span, NodeFilter.SHOW_TEXT);
  let at = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const end = at + node.length;
    if (from >= at && from < end) range.setStart(node, from - at);
    if (to > at && to <= end) {
      range.setEnd(node, to - at);
      return range;
    }
    at = end;
  }
  return null;
}

class Bar {
  constructor(pane) {
    this.pane = pane;
    this.matches = [];
    this.at = -1; // index of the current match
    this.searches = 0;
    const { title } = paneOf(pane);
    this.field = element("input", { type: "text", enterkeyhint: "search", "aria-label": `Find in ${title}`, placeholder: "Find", autocomplete: "off", spellcheck: "false" });
    this.count = element("output", {});
    this.element = element("form", { class: "find", role: "search", "aria-label": `Find in ${title}` }, this.field, this.count,
      this.button("‹", "Previous match", "Shift Enter", () => this.step(-1)),
      this.button("›", "Next match", "Enter", () => this.step(1)),
      this.button("✕", "Close find", "Escape", () => this.close()));
    this.element.addEventListener("submit", (event) => event.preventDefault());
    this.element.addEventListener("keydown", (event) => this.pressed(event));
    this.field.addEventListener("input", () => this.search(true));
    $(`#pane-${pane}`).insertBefore(this.element, $(`#body-${pane}`));
  }

  button(sign, label, keys, act) {
    const button = element("button", { type: "button", class: "icon small", "aria-label": label, title: `${label}  (${keys})` }, sign);
    button.addEventListener("click", act);
    return button;
  }

  get body() { return $(`#body-${this.pane}`); }

  open() {
    const selection = getSelection();
    const chosen = this.body.contains(selection.anchorNode) ? String(selection).trim() : "";
    this.element.hidden = false;
    if (chosen && !chosen.includes("\n")) this.field.value = chosen;
    this.field.focus();
    this.field.select();
    this.search(true);
  }

  close() {
    this.element.hidden = true;
    this.matches = [];
    this.mark();
    this.body.focus({ preventScroll: true });
  }

  pressed(event) {
    const direction = { Enter: 1, F3: 1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") this.close();
    else if (direction && event.target === this.field) this.step(event.shiftKey ? -direction : direction);
    else return;
    event.preventDefault();
  }

  /** Search what the pane shows now; a query that was changed goes to its first match from what is in view on. */
  async search(go = false) {
    if (this.element.hidden) return;
    const search = ++this.searches;
    const query = this.field.value;
    const lines = query ? await linesOf(this.pane) : [];
    if (search !== this.searches || this.element.hidden) return; // another one began meanwhile
    this.matches = lines && query ? matchesOf(lines, query) : [];
    this.lines = lines;
    const from = go ? this.inView() : this.line ?? 0;
    this.at = this.matches.length ? Math.max(0, this.matches.findIndex(({ line }) => line >= from)) : -1;
    if (go && query) this.show();
    else this.tell();
    this.mark();
  }

  /** The first line that is in view: a search goes on from there. */
  inView() {
    const lines = $$(".l", this.body);
    const top = this.body.scrollTop;
    const first = this.body.matches(".wraps") ? lines.findIndex(({ dataset }) => topOf(this.body, Number(dataset.i)) >= top) : Math.floor(top / rowHeight(this.body));
    return Math.max(0, first);
  }

  step(direction) {
    const { length } = this.matches;
    if (!length) { this.tell(); return; }
    this.at = (this.at + direction + length) % length;
    this.show();
    this.mark();
  }

  /** Bring the current match into view, with what links to its line, and say which it is. */
  show() {
    const match = this.matches[this.at];
    if (match) {
      this.line = match.line;
      goToLine(this.pane, match.line);
      this.uncover();
    }
    this.tell();
    announce(match ? `${this.count.textContent}: line ${match.line + 1}: ${this.lines[match.line].trim()}` : this.count.textContent);
  }

  /** Scroll to the right as far as the current match is. */
  uncover() {
    const box = this.matches[this.at] && rangeOf(this.body, this.matches[this.at])?.getBoundingClientRect();
    if (!box) return;
    const frame = this.body.getBoundingClientRect();
    const numbers = $(".l > b", this.body).offsetWidth;
    if (box.right > frame.right - 16) this.scrollTo(this.body.scrollLeft + box.right - frame.right + 48);
    else if (box.left < frame.left + numbers) this.body.scrollLeft -= frame.left + numbers - box.left + 48;
  }

  scrollTo(left) {
    const width = left + this.body.clientWidth;
    if (width > this.body.scrollWidth) widen(this.body, width);
    this.body.scrollLeft = left;
  }

  tell() {
    const { length } = this.matches;
    const most = length >= MOST ? "+" : "";
    this.count.textContent = !this.field.value ? "" : this.lines === null ? "expired: compile again" : length ? `${this.at + 1} of ${length}${most}` : "not found";
    this.element.classList.toggle("without", Boolean(this.field.value) && !length);
  }

  /** Lines that were on their way have come. */
  arrived() {
    if (this.element.hidden) return;
    this.uncover();
    this.mark();
  }

  /** Colour the matches in the lines that the document has, without touching its elements. */
  mark() {
    if (!CSS.highlights) return; // the line is marked all the same
    const first = Math.max(0, this.at - MAX_MARKED / 2);
    const ranges = this.matches.slice(first, first + MAX_MARKED).map((match) => rangeOf(this.body, match));
    const current = ranges[this.at - first];
    paintAs(FOUND, this.pane, ranges.filter(Boolean));
    paintAs(CURRENT, this.pane, current ? [current] : []);
  }
}

const painted = new Map(); // name of a highlight and pane -> ranges

/** Give a pane's ranges the colours of a highlight; those of other panes stay. */
function paintAs(name, pane, ranges) {
  painted.set(`${name} ${pane}`, ranges);
  const all = [...painted].filter(([key]) => key.startsWith(`${name} `)).flatMap(([, own]) => own);
  const highlight = new Highlight(...all);
  highlight.priority = name === CURRENT ? 1 : 0;
  CSS.highlights.set(name, highlight);
}
