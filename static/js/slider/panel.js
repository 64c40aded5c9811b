// The slider of a number: the script follows it, the panes follow the script, and what the code became stands beside it.
import { StateEffect, StateField, isolateHistory, showTooltip, syntaxTree, undo } from "../../vendor/codemirror.js";
import { $, announce, element, readJson } from "../dom.js";
import { ladder } from "../ladder.js";
import { on, state as page } from "../state.js";
import { figuresOf, told } from "./figures.js";
import { Scrub } from "./scrub.js";
import { stopsOf } from "./stops.js";

const LEAVING = 350; // milliseconds that a pointer may be away from a panel that it only passed
const STEP = 14; // pixels that a pointer is dragged from one stop to the next
const SLIDES = "input.slide";
const JOINED = "input.type.compose"; // what the editor's history joins with the change before, however long ago

let shown = null; // the panel that is open

const setTooltip = StateEffect.define();
const tooltip = StateField.define({
  create: () => null,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setTooltip)) return effect.value;
    return transaction.docChanged && !page.sliding ? null : value;
  },
  provide: (field) => showTooltip.from(field),
});

on("answered", () => shown?.answered());

/** The number at a place, as a node of the syntax tree: {from, to}. */
function numberAt(view, place) {
  const position = typeof place === "number" ? place : view.posAtCoords({ x: place.clientX, y: place.clientY });
  if (position === null) return null;
  const tree = syntaxTree(view.state);
  return [1, -1].map((side) => tree.resolveInner(position, side)).find(({ name }) => name === "Number") ?? null;
}

/** Open the slider of the number at a position or under a pointer.
 * @param {import("../../vendor/codemirror.js").EditorView} view
 * @param {number | PointerEvent} place
 * @param {{focus?: boolean, passing?: boolean, dragged?: boolean}} how `passing`: it closes when the pointer leaves;
 *   `dragged`: the pointer that opened it moves it */
export function openSlider(view, place, { focus = false, passing = false, dragged = false }) {
  const node = numberAt(view, place);
  if (node && shown?.isAt(node.from)) {
    if (focus) shown.input.focus();
    if (dragged) shown.drag(place);
    return;
  }
  const extents = node ? extentsFor(view.state, node) : [];
  const stops = node ? stopsOf(view.state.sliceDoc(node.from, node.to), extents) : [];
  if (stops.length < 2 || view.state.readOnly) {
    if (focus) announce("No number is at the cursor");
    return;
  }
  if (passing && shown?.kept) return; // one that is used is not taken away by a pointer on its way
  if (view.state.field(tooltip, false) === undefined) view.dispatch({ effects: StateEffect.appendConfig.of(tooltip) });
  shown?.close();
  shown = new Slider(view, node, stops, passing);
  shown.splits = extents.length > 0;
  shown.open(focus);
  if (dragged) shown.drag(place);
}

/** The extents of the loops that a number splits: those of its statement, or of the lines that use the name it is given. */
function extentsFor(state, node) {
  const splits = readJson("answer").splits ?? [];
  const statement = around(node, /Statement$/);
  const own = linesOf(state, statement ?? node);
  const direct = splits.filter(([line]) => own.includes(line));
  if (direct.length || statement?.name !== "AssignStatement") return unique(direct);
  const name = statement.firstChild?.name === "VariableName" ? state.sliceDoc(statement.firstChild.from, statement.firstChild.to) : "";
  const uses = name && new RegExp(`(?<![\\w.])${name}(?!\\w)`, "u");
  return unique(splits.filter(([line]) => uses && line <= state.doc.lines && uses.test(state.doc.line(line).text)));
}

const unique = (splits) => [...new Set(splits.map(([, extent]) => extent))];

function around(node, pattern) {
  for (let at = node; at; at = at.parent) if (pattern.test(at.name)) return at;
  return null;
}

function linesOf({ doc }, { from, to }) {
  const [first, last] = [doc.lineAt(from).number, doc.lineAt(to).number];
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

class Slider {
  constructor(view, { from, to }, stops, passing) {
    this.view = view;
    this.from = from;
    this.start = this.value = view.state.sliceDoc(from, to); // at the opening, and now
    this.moving = false; // whether the next value belongs to the same step of Undo as the last one
    this.stops = stops;
    this.splits = false; // whether it splits loops, so that all of its values make the same work
    this.kept = !passing;
    this.figures = new Map(); // value -> what the code became
    this.scrub = new Scrub(this);
    this.ladder = ladder.isFresh ? ladder.measurements : []; // of the script as it is
    this.last = this.ladder.findLast(({ kind }) => kind === "prefix");
    this.build();
  }

  isAt(position) { return this.from === position; }

  build() {
    const line = this.view.state.doc.lineAt(this.from).number;
    const last = String(this.stops.length - 1);
    this.input = element("input", { type: "range", min: "0", max: last, step: "1", "aria-label": `Value of ${this.start} in line ${line}` });
    this.output = element("output", { class: "slider-value" });
    this.words = element("p", { class: "slider-words", role: "status" });
    this.bar = element("span", { class: "slider-bar", "aria-hidden": "true" });
    const measure = element("button", { type: "button", class: "small", title: "Measure the program at each of these values, and draw the times" }, "Measure all");
    const shut = element("button", { type: "button", class: "icon small", "aria-label": "Close; Escape restores the number" }, "✕");
    this.dom = element("div", { class: "slider", role: "group", "aria-label": "Slider of a number" },
      element("div", { class: "slider-row" }, this.output, this.input, measure, shut), this.bar, this.words, this.scrub.dom);
    this.input.addEventListener("input", () => { this.keep(); this.set(this.stops[Number(this.input.value)]); });
    this.input.addEventListener("pointerup", () => this.settle());
    measure.addEventListener("click", () => { this.keep(); this.scrub.toggle(measure); });
    shut.addEventListener("click", () => this.leave());
    this.dom.addEventListener("keydown", (event) => this.pressed(event));
    this.outside = ({ target }) => { if (!this.dom.contains(target)) this.close(); };
    this.passed = ({ target }) => this.pass(this.dom.contains(target) || target.closest?.(".n"));
    this.showValue();
  }

  open(focus) {
    const create = () => ({ dom: this.dom, mount: () => { if (focus) this.input.focus(); }, destroy: () => this.closed() });
    this.view.dispatch({ effects: setTooltip.of({ pos: this.from, above: true, create }) });
    document.addEventListener("pointerdown", this.outside, true);
    document.addEventListener("pointermove", this.passed);
    this.show();
    if (!document.body.classList.contains("pending")) this.answered();
  }

  keep() {
    this.kept = true;
    clearTimeout(this.leaving);
  }

  /** Close soon what a pointer has left without using it. */
  pass(isThere) {
    if (isThere || this.kept) this.leaving = clearTimeout(this.leaving);
    else this.leaving ??= setTimeout(() => this.close(), LEAVING);
  }

  /** Follow the pointer that is down, one stop for some pixels, until it is up. */
  drag(from) {
    this.keep();
    this.input.focus();
    const began = Number(this.input.value);
    const move = (event) => {
      const index = began + Math.round((event.clientX - from.clientX) / STEP);
      this.set(this.stops[Math.max(0, Math.min(this.stops.length - 1, index))]);
    };
    const up = () => {
      document.removeEventListener("pointermove", move);
      for (const end of ["pointerup", "pointercancel"]) document.removeEventListener(end, up);
      this.settle();
    };
    document.addEventListener("pointermove", move);
    for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, up);
  }

  /** Write a value into the script; the panes follow as fast as answers come. */
  set(value) {
    if (value === this.value) return;
    const { from, view } = this;
    page.sliding = true;
    view.dispatch({ changes: { from, to: from + this.value.length, insert: value }, userEvent: this.moving ? JOINED : SLIDES });
    page.sliding = false;
    this.moving = true;
    this.value = value;
    this.showValue();
  }

  /** End a step of Undo: what was set since the last one is taken back at once. */
  settle() {
    if (this.moving) this.view.dispatch({ annotations: isolateHistory.of("full") });
    this.moving = false;
  }

  pressed(event) {
    const { key, ctrlKey, metaKey } = event;
    if (key === "Escape") {
      this.set(this.start);
      this.leave();
    } else if (key === "Enter" && event.target === this.input) {
      this.leave();
    } else if ((ctrlKey || metaKey) && key.toLowerCase() === "z") {
      this.leave();
      undo(this.view);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  leave() {
    this.close();
    this.view.focus();
  }

  close() {
    if (shown !== this) return;
    this.settle();
    this.view.dispatch({ effects: setTooltip.of(null) });
  }

  /** The editor has taken the panel away. */
  closed() {
    if (shown !== this) return;
    shown = null;
    clearTimeout(this.leaving);
    document.removeEventListener("pointerdown", this.outside, true);
    document.removeEventListener("pointermove", this.passed);
    this.scrub.stop();
    ladder.slide(null);
    if (this.last && this.value !== this.start) $("#pane-bench").classList.add("stale");
  }

  showValue() {
    this.input.value = String(this.stops.indexOf(this.value));
    this.input.setAttribute("aria-valuetext", this.value);
    this.output.textContent = this.value;
    this.show();
  }

  /** An answer has come: to the value that stood in the script when it was asked for. */
  async answered() {
    const { from, value, view } = this;
    if (value === this.start && !this.scrub.figures.size) this.restop();
    const asked = page.asked || view.state.doc.toString(); // the page may have come compiled
    const answered = asked.slice(from, asked.length - (view.state.doc.length - from - value.length));
    const problem = readJson("answer").problems.find(({ severity }) => severity === "error");
    if (problem) this.figures.set(answered, { problem });
    else {
      this.asking?.abort(); // the newest value is the one that is looked at
      this.asking = new AbortController();
      const figures = await figuresOf($("#body-asm")?.dataset.listing, page.options.assembly ?? "host", this.asking.signal);
      if (figures) this.figures.set(answered, figures);
    }
    if (answered === this.value) this.show();
  }

  /** Move the bar of the whole schedule: to what was measured of the value, or what the model predicts of it.
   * @param {number} factor times as fast as the value at the opening, by the model */
  slideLadder(factor) {
    const { last, value } = this;
    if (!last) return;
    const { seconds, disturbed } = this.scrub.figures.get(value) ?? {};
    const measured = seconds && !this.scrub.isSize && { seconds, spread: 0, disturbed, note: `measured with ${value} in the place of ${this.start}` };
    const predicted = this.splits && factor > 0 && Number.isFinite(factor) && { seconds: last.seconds / factor, spread: 0, repeats: 0, checked: "unchecked", estimated: true, note: `predicted with ${value} in the place of ${this.start}, by the model of the hot loop` };
    const moved = value !== this.start && (measured || predicted);
    const draw = (one) => (one === last ? { ...one, gflops: one.flops && one.flops / moved.seconds / 1e9, ...moved } : one);
    ladder.slide(moved ? this.ladder.map(draw) : null);
  }

  /** Take the stops anew: the answer knows the loops that the number splits. */
  restop() {
    const node = numberAt(this.view, this.from);
    if (!node) return;
    const extents = extentsFor(this.view.state, node);
    this.splits = extents.length > 0;
    this.stops = stopsOf(this.value, extents);
    this.input.max = String(this.stops.length - 1);
    this.input.value = String(this.stops.indexOf(this.value));
  }

  /** Say what the code of the value is, beside that of the value that it began with. */
  show() {
    if (shown !== this) return;
    const known = this.figures.get(this.value);
    const speed = (figures) => (figures?.cycles ? figures.work / figures.cycles : 0);
    const most = Math.max(...[...this.figures.values()].map(speed), 0);
    this.bar.hidden = !speed(known);
    this.bar.style.setProperty("--share", String(most ? speed(known) / most : 0));
    this.scrub.mark(this.value);
    this.slideLadder(speed(known) / speed(this.figures.get(this.start)));
    this.words.classList.toggle("refusal", Boolean(known?.problem));
    this.words.textContent = !known ? "compiling …" : told(known, this.value === this.start ? null : this.figures.get(this.start));
  }
}
