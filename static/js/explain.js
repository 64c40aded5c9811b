// Shows the documentation of a name of the script: under the pointer, or at the cursor by key.
import { StateEffect, StateField, hoverTooltip, keymap, showTooltip, syntaxTree } from "../vendor/codemirror.js";
import { documentation, importsOf, resolve } from "./api.js";
import { announce } from "./dom.js";

const EXPRESSION = /(?:[\])]|[A-Za-z_]\w*)(?:\.[A-Za-z_]\w*)*/g;

/** The word of a line at a position, with the expression that it ends: {from, to, expression}. */
function wordAt(state, position) {
  const line = state.doc.lineAt(position);
  for (const match of line.text.matchAll(EXPRESSION)) {
    let from = line.from + match.index;
    const parts = match[0].split(".");
    for (const [index, part] of parts.entries()) {
      const to = from + part.length;
      if (position >= from && position <= to && /\w/.test(part)) return { from, to, expression: parts.slice(0, index + 1).join(".") };
      from = to + 1;
    }
  }
  return null;
}

/** A tooltip with the documentation of the name at a position; null where nothing is known of it. */
async function explain(state, position) {
  const word = wordAt(state, position);
  const script = state.doc.toString();
  // A word alone is a name of the API where it was imported, or a variable.
  const isVariable = word && /^Variable/.test(syntaxTree(state).resolveInner(word.from, 1).name);
  if (!word || !(word.expression.includes(".") || isVariable || importsOf(script).has(word.expression))) return null;
  const name = await resolve(word.expression, script, word.to);
  const article = name && (await documentation(name));
  return article && { pos: word.from, end: word.to, above: true, article: article.cloneNode(true) };
}

const setOpen = StateEffect.define();

/** The documentation that a key opened; it closes when one types or moves on. */
const opened = StateField.define({
  create: () => null,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setOpen)) return effect.value;
    return transaction.docChanged || transaction.selection ? null : value;
  },
  provide: (field) => showTooltip.from(field),
});

/** Open the documentation at the cursor, or go into it where it is open. */
function open(view) {
  const shown = view.state.field(opened);
  if (shown) {
    shown.article.focus();
    return true;
  }
  const position = view.state.selection.main.head;
  explain(view.state, position).then((tooltip) => {
    if (view.state.selection.main.head !== position) return;
    if (!tooltip) {
      announce("No documentation for the name at the cursor");
      return;
    }
    const { article } = tooltip;
    article.tabIndex = 0; // unlike under the pointer, where Tab passes it by
    article.addEventListener("keydown", (event) => { if (event.key === "Escape") { close(view); view.focus(); } });
    view.dispatch({ effects: setOpen.of({ ...tooltip, create: () => ({ dom: article }) }) });
    announce(article.innerText);
  });
  return true;
}

function close(view) {
  if (!view.state.field(opened)) return false;
  view.dispatch({ effects: setOpen.of(null) });
  return true;
}

export const explanations = [
  hoverTooltip(async (view, position) => {
    const tooltip = await explain(view.state, position);
    return tooltip && { ...tooltip, create: () => ({ dom: tooltip.article }) };
  }),
  opened,
  keymap.of([{ key: "F1", run: open }, { key: "Escape", run: close }]),
];
