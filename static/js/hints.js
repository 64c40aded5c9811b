// Inlay hints: shapes, extents and dtypes of what a line gives names to, behind it, as the last compilation found them.
import { Decoration, EditorView, StateEffect, StateField } from "../vendor/codemirror.js";

const setHints = StateEffect.define();
const NONE = { marks: Decoration.none, current: true };

const hints = StateField.define({
  create: () => NONE,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setHints)) return { marks: placed(transaction.state.doc, effect.value), current: true };
    if (!transaction.docChanged || value === NONE) return value;
    const kept = value.marks.update({ filter: (from) => !isEdited(transaction, from) }).map(transaction.changes);
    return { marks: kept, current: false };
  },
  provide: (field) => [
    EditorView.decorations.from(field, ({ marks }) => marks),
    EditorView.editorAttributes.from(field, ({ current }) => (current ? {} : { class: "outdated-hints" })),
  ],
});

export const inlayHints = hints;

/** Whether a change touches the line that began at a position. */
function isEdited({ startState, changes }, from) {
  return Boolean(changes.touchesRange(from, startState.doc.lineAt(from).to));
}

// An attribute that the style sheet shows: what is behind a line is no text of it, to be selected, copied or read out.
const placed = (doc, found) => Decoration.set(
  found.filter(([line]) => line <= doc.lines).map(([line, text]) => Decoration.line({ attributes: { "data-hint": text } }).range(doc.line(line).from)),
);

/** Show the hints of an answer to the text as it is. Those of a script that did not begin to run stay as they are.
 * @param {EditorView} view
 * @param {{hints: [number, string][], status: string}} answer */
export function showHints(view, { hints: found, status }) {
  if (!found.length && (status !== "ok" || view.state.field(hints) === NONE)) return;
  view.dispatch({ effects: setHints.of(found) });
}
