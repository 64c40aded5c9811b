// Renames a variable of the script, such as an axis: all its uses, as one step of the editor.
import { StateEffect, StateField, keymap, showTooltip, syntaxTree } from "../vendor/codemirror.js";
import { announce, counted, element, toast } from "./dom.js";

const SCOPES = /^(?:FunctionDefinition|LambdaExpression|.*Comprehension(?:Expression)?|Script)$/;
const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const KEYWORDS = new Set("False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(" "));

/** The name of a keyword argument is the callee's, not the script's. */
const isKeyword = (node) => node.parent?.name === "ArgList" && node.nextSibling?.name === "AssignOp";

function variables(state) {
  const nodes = [];
  syntaxTree(state).iterate({ enter: ({ name, node }) => { if (name === "VariableName" && !isKeyword(node)) nodes.push(node); } });
  return nodes;
}

const textOf = (state, node) => state.sliceDoc(node.from, node.to);

/** The scopes around a node, the innermost first. */
function scopesAround(node) {
  const scopes = [];
  for (let at = node.parent; at; at = at.parent) if (SCOPES.test(at.name)) scopes.push(at);
  return scopes;
}

/** Whether a use of a variable gives it its value: a parameter, the left side of an assignment, or a loop's variable. */
function binds(node) {
  for (let at = node; at.parent && !SCOPES.test(at.parent.name) && at.parent.name !== "Body"; at = at.parent) {
    const { name } = at.parent;
    if (name === "ParamList") return at.prevSibling?.name !== "AssignOp";
    if (name === "AssignStatement") return hasAfter(at, "AssignOp");
    if (name === "ForStatement") return hasAfter(at, "in");
    if (!/^(?:TupleExpression|ParenthesizedExpression|ArrayExpression)$/.test(name)) return false;
  }
  return hasAfter(node, "in") && /Comprehension/.test(node.parent?.name ?? "");
}

function hasAfter(node, name) {
  for (let at = node.nextSibling; at; at = at.nextSibling) if (at.name === name) return true;
  return false;
}

/** All uses of the variable at a position: those that the same scope gives its value. */
export function usesOf(state, position) {
  const all = variables(state);
  const chosen = all.find((node) => node.from <= position && position <= node.to);
  if (!chosen) return [];
  const same = all.filter((node) => textOf(state, node) === textOf(state, chosen));
  const binding = new Set(same.filter(binds).map((node) => scopesAround(node)[0].from));
  const scopeOf = (node) => (scopesAround(node).find((scope) => scope.name === "Script" || binding.has(scope.from)) ?? node).from;
  return same.filter((node) => scopeOf(node) === scopeOf(chosen));
}

const setForm = StateEffect.define();
const form = StateField.define({
  create: () => null,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setForm)) return effect.value;
    return transaction.docChanged ? null : value;
  },
  provide: (field) => showTooltip.from(field),
});

function open(view) {
  const { state } = view;
  const uses = usesOf(state, state.selection.main.head);
  if (!uses.length || state.readOnly) {
    announce("No variable is at the cursor");
    return true;
  }
  const create = () => {
    const input = element("input", { value: textOf(state, uses[0]), "aria-label": "New name", spellcheck: "false", autocomplete: "off" });
    const dom = element("form", { class: "rename" }, input, element("small", {}, counted(uses.length, "use")));
    dom.addEventListener("submit", (event) => { event.preventDefault(); rename(view, uses, input.value.trim()); });
    dom.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); close(view); } });
    return { dom, mount: () => { input.focus(); input.select(); } };
  };
  view.dispatch({ effects: setForm.of({ pos: state.selection.main.head, above: true, create }) });
  return true;
}

function rename(view, uses, name) {
  const old = textOf(view.state, uses[0]);
  if (name === old) return close(view);
  if (!NAME.test(name) || KEYWORDS.has(name)) return toast(name ? `${name} is not a valid variable name` : "Enter a name");
  if (variables(view.state).some((node) => textOf(view.state, node) === name)) return toast(`The script already has a variable ${name}`);
  view.dispatch({ changes: uses.map(({ from, to }) => ({ from, to, insert: name })), userEvent: "input.rename" });
  view.focus();
  return announce(`Renamed ${counted(uses.length, "use")} of ${old} to ${name}`);
}

function close(view) {
  view.dispatch({ effects: setForm.of(null) });
  view.focus();
}

export const renaming = [form, keymap.of([{ key: "F2", run: open }])];
