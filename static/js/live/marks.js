// The editor of a live workspace: what others write, where they are and what they pinned; and whether one may write oneself.
import { Compartment, Decoration, EditorState, EditorView, Prec, StateEffect, StateField, WidgetType } from "../../vendor/codemirror.js";
import { $, element } from "../dom.js";

/** @typedef {{line: number, column: number, from_line: number, from_column: number, pin: number[]}} Place */
/** @typedef {{seat: number, name: string, place: Place}} Other */

const view = EditorView.findFromDOM($("#editor"));
const { addToHistory } = view.state.update({}).constructor;
const theirs = StateEffect.define(); // marks a change as that of somebody else
const setOthers = StateEffect.define();
const rights = new Compartment();
let allowed = true;
let moved = () => {};
let refused = () => {};

/** Somebody's cursor, or their name behind a line that they pinned; the name is no text of the script, and so an attribute. */
class Mark extends WidgetType {
  constructor(kind, seat, name) { super(); Object.assign(this, { kind, seat, name }); }
  eq({ kind, seat, name }) { return kind === this.kind && seat === this.seat && name === this.name; }
  toDOM() { return element("span", { class: `${this.kind} seat-${this.seat}`, "data-name": this.name, "aria-hidden": "true" }); }
  ignoreEvent() { return true; }
}

const marks = StateField.define({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setOthers)) return decorate(transaction.state.doc, effect.value);
    return transaction.docChanged ? value.map(transaction.changes) : value;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** The position of a line and column, as near as the text has it. */
function position(doc, line, column) {
  const { from, to } = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(from + column, to);
}

/** @param {Other[]} others */
function decorate(doc, others) {
  const ranges = [];
  for (const { seat, name, place } of others) {
    const head = position(doc, place.line, place.column);
    const anchor = position(doc, place.from_line, place.from_column);
    if (anchor !== head) ranges.push(Decoration.mark({ class: `live-selection seat-${seat}` }).range(Math.min(anchor, head), Math.max(anchor, head)));
    ranges.push(Decoration.widget({ widget: new Mark("live-caret", seat, name), side: 1 }).range(head));
    for (const line of place.pin) {
      if (line > doc.lines) continue;
      const { from, to } = doc.line(line);
      ranges.push(Decoration.line({ class: `live-pin seat-${seat}` }).range(from), Decoration.widget({ widget: new Mark("live-pin-name", seat, name), side: 2 }).range(to));
    }
  }
  return Decoration.set(ranges, true);
}

const isTheirs = ({ effects }) => effects.some((effect) => effect.is(theirs));
const rightsNow = () => Prec.highest(EditorState.readOnly.of(!allowed));

/** Say who may write from here on.
 * @param {{onMove: () => void, onRefused: () => void}} listeners */
export function startMarks({ onMove, onRefused }) {
  [moved, refused] = [onMove, onRefused];
  const extensions = [
    rights.of(rightsNow()), marks,
    EditorState.changeFilter.of((transaction) => {
      if (allowed || !transaction.docChanged || isTheirs(transaction)) return true;
      refused();
      return false;
    }),
    EditorView.updateListener.of(({ selectionSet, docChanged, transactions }) => {
      if (selectionSet || (docChanged && !transactions.some(isTheirs))) moved();
    }),
    EditorView.domEventHandlers({
      keydown: ({ key, ctrlKey, metaKey, altKey }) => {
        if (!allowed && !ctrlKey && !metaKey && !altKey && (key.length === 1 || ["Enter", "Backspace", "Delete"].includes(key))) refused();
        return false;
      },
    }),
  ];
  view.dispatch({ effects: StateEffect.appendConfig.of(extensions) });
}

export function allow(writing) {
  if (writing === allowed) return;
  allowed = writing;
  view.dispatch({ effects: rights.reconfigure(rightsNow()) });
}

/** Write what somebody else wrote: only what differs, so that one's own cursor and what is seen stay. */
export function replace(script) {
  const before = view.state.doc.toString();
  if (before === script) return;
  const shorter = Math.min(before.length, script.length);
  let start = 0;
  while (start < shorter && before[start] === script[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before[before.length - 1 - end] === script[script.length - 1 - end]) end += 1;
  const changes = { from: start, to: before.length - end, insert: script.slice(start, script.length - end) };
  view.dispatch({ changes, effects: theirs.of(null), annotations: addToHistory.of(false) });
}

/** @param {Other[]} others */
export const showOthers = (others) => view.dispatch({ effects: setOthers.of(others) });

/** Where one is oneself.
 * @returns {Omit<Place, "pin">} */
export function ownPlace() {
  const { doc, selection: { main } } = view.state;
  const [head, anchor] = [doc.lineAt(main.head), doc.lineAt(main.anchor)];
  return { line: head.number, column: main.head - head.from, from_line: anchor.number, from_column: main.anchor - anchor.from };
}
