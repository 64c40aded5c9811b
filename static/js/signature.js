// The signature of the call that is being typed, with the parameter at the cursor marked.
import { EditorView, StateEffect, StateField, keymap, showTooltip, syntaxTree } from "../vendor/codemirror.js";
import { documentation, resolve } from "./api.js";
import { element } from "./dom.js";

const PAUSE = 150;
const setHelp = StateEffect.define();

/** Whether a change is the typist's, and not another script in the place of theirs. */
const typed = (transaction) => ["input", "delete", "undo", "redo", "move"].some((kind) => transaction.isUserEvent(kind));

const help = StateField.define({
  create: () => null,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setHelp)) return effect.value;
    if (!value || !transaction.docChanged) return value;
    return typed(transaction) ? { ...value, pos: transaction.changes.mapPos(value.pos) } : null;
  },
  provide: (field) => showTooltip.from(field),
});

/** The call around a position: where its arguments begin, what is called, and which argument the position is in. */
export function callAt(state, position) {
  let node = syntaxTree(state).resolveInner(position, -1);
  while (node && !isInside(node, position)) node = node.parent;
  if (!node) return null;
  const callee = state.sliceDoc(node.parent.from, node.from).trim();
  let index = 0;
  for (let child = node.firstChild; child && child.from < position; child = child.nextSibling) if (child.name === "," && child.to <= position) index += 1;
  const argument = state.sliceDoc(node.from + 1, position).split(",").pop();
  return { from: node.from, callee, index, keyword: /^\s*(\w+)\s*=(?!=)/.exec(argument)?.[1] ?? null };
}

/** Whether a position is between the brackets of a call, or after the opening one where the other is still to come. */
function isInside(node, position) {
  if (node.name !== "ArgList" || node.parent?.name !== "CallExpression" || position <= node.from) return false;
  return node.lastChild?.name !== ")" || position < node.to;
}

/** What is called, as the public API spells it: `s[C].split` is a stage's. */
const spelt = (callee) => /(?:[\])]|[A-Za-z_]\w*)(?:\.\w+)*$/.exec(callee)?.[0] ?? null;

let due;

async function look(view) {
  const { state } = view;
  const call = state.selection.main.empty ? callAt(state, state.selection.main.head) : null;
  const expression = call && spelt(call.callee);
  const name = expression && (await resolve(expression, state.doc.toString(), call.from));
  const article = name && (await documentation(name));
  if (!view.hasFocus || view.state.doc !== state.doc || view.state.selection.main.head !== state.selection.main.head) return; // typed on
  const shown = article ? { pos: call.from, above: true, create: () => ({ dom: drawn(article, call) }) } : null;
  if (shown || state.field(help)) view.dispatch({ effects: setHelp.of(shown) });
}

/** The signature, the parameter at the cursor, and what is said of it. */
function drawn(article, { index, keyword }) {
  const signature = article.querySelector(".signature").cloneNode(true);
  const parameters = parametersOf(signature.textContent);
  const parameter = keyword
    ? parameters.find(({ name }) => name === keyword)
    : parameters.find(({ variadic }, at) => at === index || (variadic && at < index));
  const box = element("div", { class: "signature-help", role: "status" }, signature);
  if (!parameter) return box;
  const entry = [...article.querySelectorAll("dt")].find((dt) => dt.querySelector("code")?.textContent.split(/,\s*/).map(bare).includes(parameter.name));
  const said = element("p", {}, element("strong", {}, parameter.text));
  if (entry?.nextElementSibling) said.append(" ", entry.nextElementSibling.textContent.trim());
  box.append(said);
  return box;
}

const bare = (name) => name.replace(/^\*+/, "");

/** The parameters of a signature, split where no bracket is open. */
export function parametersOf(signature) {
  const inner = signature.slice(signature.indexOf("(") + 1);
  const parts = [""];
  let depth = 0;
  for (const letter of inner) {
    if ("([{".includes(letter)) depth += 1;
    if (")]}".includes(letter) && (depth -= 1) < 0) break;
    if (letter === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += letter;
  }
  return parts.map((part) => part.trim()).filter((part) => part && part !== "*" && part !== "/")
    .map((text) => ({ text, name: bare(/^\**\w+/.exec(text)?.[0] ?? ""), variadic: text.startsWith("*") }));
}

/** Show it while arguments are typed, and while the cursor moves among them; Escape puts it away. */
export const signatureHelp = [
  help,
  EditorView.updateListener.of(({ view, docChanged, selectionSet, state, transactions }) => {
    if (!docChanged && !(selectionSet && state.field(help))) return;
    clearTimeout(due);
    if (!docChanged || transactions.some(typed)) due = setTimeout(look, PAUSE, view);
  }),
  EditorView.domEventHandlers({
    blur: (_, view) => {
      clearTimeout(due);
      if (view.state.field(help)) view.dispatch({ effects: setHelp.of(null) });
    },
  }),
  keymap.of([{ key: "Escape", run: (view) => Boolean(view.state.field(help)) && (view.dispatch({ effects: setHelp.of(null) }), true) }]),
];
