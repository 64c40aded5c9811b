// The editor: Python, tints and links of its lines, mistakes at their place.
import {
  Decoration, EditorState, EditorView, HighlightStyle, StateEffect, StateField, autocompletion, bracketMatching,
  closeBrackets, closeBracketsKeymap, completionKeymap, defaultKeymap, drawSelection, highlightActiveLineGutter,
  highlightSelectionMatches, history, historyKeymap, indentOnInput, indentUnit, indentWithTab, keymap, lineNumbers,
  lintKeymap, python, searchKeymap, setDiagnostics, syntaxHighlighting, syntaxTree, tags,
} from "../vendor/codemirror.js";
import { complete } from "./completion.js";
import { $, counted } from "./dom.js";
import { keepDraft, readDraft } from "./draft.js";
import { editing, leaveEditor, listenAround, startEditing } from "./editing.js";
import { explanations } from "./explain.js";
import { actions, fixing, offerFixes } from "./fixes.js";
import { format, formatting } from "./format.js";
import { inlayHints, showHints } from "./hints.js";
import { problemMessages, showMessages } from "./messages.js";
import { renaming } from "./rename.js";
import { signatureHelp } from "./signature.js";
import { sliding } from "./slider.js";
import { state, tell } from "./state.js";

const style = HighlightStyle.define([
  { tag: tags.comment, class: "c" },
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword, tags.moduleKeyword], class: "k" },
  { tag: [tags.string, tags.special(tags.string)], class: "s" },
  { tag: [tags.number, tags.bool, tags.null], class: "n" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.definition(tags.function(tags.variableName))], class: "f" },
  { tag: [tags.className, tags.meta], class: "f" },
]);

const setLines = StateEffect.define();
const NO_LINES = { tints: new Map(), related: new Set(), failed: new Set(), running: null, of: null, marks: Decoration.none };

/** Classes of whole lines: {tints: Map, related: Set, failed: Set, running: number}, by 1-based line of a text; tints and
 * links are of the lines where statements begin. */
const lines = StateField.define({
  create: () => NO_LINES,
  update(value, transaction) {
    if (transaction.docChanged && isAnother(transaction.startState.doc, transaction.newDoc, transaction.changes)) return NO_LINES;
    let next = value;
    for (const effect of transaction.effects) if (effect.is(setLines)) next = { ...next, ...effect.value };
    const { state, startState } = transaction;
    // The text is parsed in the background: where statements end is known piece by piece.
    const parsed = value.of === state.doc && syntaxTree(state) !== syntaxTree(startState);
    if (next !== value || parsed) return { ...next, of: state.doc, marks: decorate(state, next) };
    return transaction.docChanged ? { ...value, marks: value.marks.map(transaction.changes) } : value;
  },
  provide: (field) => EditorView.decorations.from(field, (value) => value.marks),
});

/** Whether a change puts another script in the place of the whole one before: most of its lines are new. */
function isAnother(before, after, changes) {
  let whole = false;
  changes.iterChanges((from, to) => { whole ||= from === 0 && to === before.length; });
  if (!whole) return false;
  const written = (doc) => doc.toString().split("\n").map((line) => line.trim()).filter(Boolean);
  const known = new Set(written(before));
  const lines = written(after);
  return 2 * lines.filter((line) => known.has(line)).length < lines.length || !lines.length;
}

const COMPOUND = /^(?:For|While|If|With|Try|Match|Function|Class)|^Decorated|^Script$|^Body$/;

/** The lines of the simple statement that stands on a line; origins name only the line where an expression begins. */
function statement(state, number) {
  const line = state.doc.line(number);
  const indent = line.text.length - line.text.trimStart().length;
  let node = syntaxTree(state).resolveInner(line.from + indent, 1);
  while (node.parent && !/^(?:Script|Body)$/.test(node.parent.name)) node = node.parent;
  if (!node.parent || COMPOUND.test(node.name) || node.name === "Comment") return [number];
  const first = state.doc.lineAt(node.from).number;
  const last = state.doc.lineAt(Math.max(node.from, node.to - 1)).number;
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Tints of origins' lines, spread over the whole statement; a line with a tint of its own keeps it. */
function spread(state, tints) {
  const all = new Map();
  for (const [number, tint] of tints) {
    if (number > state.doc.lines) continue;
    for (const line of statement(state, number)) if (!all.has(line)) all.set(line, tint);
  }
  for (const [number, tint] of tints) all.set(number, tint);
  return all;
}

function decorate(state, { tints, related, failed, running }) {
  const { doc } = state;
  const marks = [];
  const tinted = spread(state, tints);
  const lit = new Set([...related].filter((number) => number <= doc.lines).flatMap((number) => statement(state, number)));
  for (let number = 1; number <= doc.lines; number += 1) {
    const tint = tinted.get(number);
    const names = [tint && `t${tint}`, lit.has(number) && "related", failed.has(number) && "failed-line", number === running && "running-line"].filter(Boolean);
    if (names.length) marks.push(Decoration.line({ class: names.join(" ") }).range(doc.line(number).from));
  }
  return Decoration.set(marks);
}

function makeView() {
  const reading = document.body.classList.contains("reading");
  const extensions = [
    EditorView.cspNonce.of($("#entry").nonce), editing,
    lineNumbers(), highlightActiveLineGutter(), history(), drawSelection(), indentOnInput(), bracketMatching(),
    closeBrackets(), highlightSelectionMatches(), problemMessages, autocompletion({ override: [complete], icons: false }), explanations, signatureHelp, renaming, formatting, fixing, inlayHints, sliding,
    EditorState.readOnly.of(reading), EditorView.editable.of(!reading), EditorState.tabSize.of(4), indentUnit.of("    "), python(), syntaxHighlighting(style), lines,
    EditorView.contentAttributes.of({ "aria-label": "Script", tabindex: "0" }),
    keymap.of([
      { key: "Alt-Enter", run: (view) => { tell("source-pin", linesAt(view, view.state.selection.main.head)); return true; } },
      ...closeBracketsKeymap, ...defaultKeymap.filter(({ key }) => key !== "Mod-Enter"), ...searchKeymap,
      ...historyKeymap, ...completionKeymap, ...lintKeymap, indentWithTab,
      { key: "Escape", run: leaveEditor },
    ]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) {
        keepDraft(update.state.doc.toString());
        if (isAnother(update.startState.doc, update.state.doc, update.changes)) tell("replaced");
        tell("edited");
      }
      if (update.selectionSet && update.view.hasFocus && !update.docChanged) {
        tell("source-lines", linesAt(update.view, update.state.selection.main.head));
      }
    }),
    EditorView.domEventHandlers({
      pointermove: (event, view) => { pointAt(event, view); },
      click: ({ detail, altKey }, { state: { selection } }) => { if (detail === 1 && !altKey && selection.main.empty) tell("source-click", linesAt(view, selection.main.head)); },
      beforeinput: replaceSelected,
      focus: (_, view) => { if (tabbed) view.setTabFocusMode(true); }, // whoever goes by Tab through the page goes on; any other key ends it
      pointerdown: (_, view) => { view.setTabFocusMode(false); },
      pointerleave: () => { hovered = 0; tell("source-lines", []); },
    }),
  ];
  const draft = readDraft();
  if (draft !== null && draft !== $("#script").value) state.compiled = false;
  const doc = draft ?? $("#script").value;
  return new EditorView({ state: EditorState.create({ doc, extensions }), parent: $("#editor") });
}

/**
 * Type over a selection ourselves: Chromium would keep the colour of what was there in a style attribute, which the
 * content security policy forbids.
 */
function replaceSelected(event, view) {
  const { from, to, empty } = view.state.selection.main;
  if (event.inputType !== "insertText" || event.isComposing || empty || event.data === null || view.state.readOnly) return false;
  event.preventDefault();
  const insert = () => view.state.update(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
  if (!view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, event.data, insert))) view.dispatch(insert());
  return true;
}

let tabbed = false; // whether the last key was Tab
addEventListener("keydown", ({ key }) => { tabbed = key === "Tab"; }, { capture: true });
addEventListener("pointerdown", () => { tabbed = false; }, { capture: true });

let hovered = 0;
let marked = false; // whether problems are underlined
let opened = null; // the text that was opened last, until it is compiled: its first problem is scrolled to

const linesAt = (view, position) => statement(view.state, view.state.doc.lineAt(position).number);

function pointAt(event, view) {
  const position = view.posAtCoords({ x: event.clientX, y: event.clientY });
  const line = position === null ? 0 : view.state.doc.lineAt(position).number;
  if (line !== hovered) tell("source-lines", line ? linesAt(view, position) : []);
  hovered = line;
}

const view = makeView();
startEditing(view);
listenAround(view);
const listProblems = lintKeymap.find(({ key }) => key === "Mod-Shift-m").run;
$("#format-button").addEventListener("click", () => format(view));
$("#problems-button").addEventListener("click", () => listProblems(view));

/** Give lines their classes, unless they have them: each transaction reads the selection, and so lays out the page. */
function update(changed) {
  const now = view.state.field(lines);
  const same = now.of === view.state.doc && Object.entries(changed).every(([name, value]) => textOf(value) === textOf(now[name]));
  if (!same) view.dispatch({ effects: setLines.of(changed) });
}

const textOf = (value) => (value instanceof Set || value instanceof Map ? [...value].join(" ") : String(value));

export const editor = {
  get text() { return view.state.doc.toString(); },
  set text(script) { view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: script } }); },
  /** Begin with another script, at its beginning; nothing that belongs to the one before stays. */
  open(script) {
    tell("replaced");
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: script }, selection: { anchor: 0 }, effects: [setLines.of(NO_LINES), EditorView.scrollIntoView(0, { y: "start" })] });
    opened = view.state.doc;
  },
  /** Write lines in the place of others, or before one, as one step that Undo takes back. */
  replaceLines(...edits) {
    const { doc } = view.state;
    const changes = edits.map(({ line, removed = 0, text }) => {
      const atEnd = line > doc.lines;
      const from = atEnd ? doc.length : doc.line(line).from;
      const to = removed ? doc.line(Math.min(line + removed - 1, doc.lines)).to : from;
      return { from, to, insert: atEnd ? `\n${text}` : removed ? text : `${text}\n` };
    });
    const anchor = changes[0].from + changes[0].insert.trimEnd().length;
    view.dispatch({ changes, selection: { anchor }, userEvent: "input.schedule", scrollIntoView: true });
  },
  get line() { return view.state.doc.lineAt(view.state.selection.main.head).number; },
  get focused() { return view.hasFocus; },
  focus() { view.focus(); },
  remeasure() { view.requestMeasure(); },
  tint: (tints) => update({ tints }),
  hint: (answer) => showHints(view, answer),
  relate: (related) => update({ related }),
  running: (line) => update({ running: line ?? null }),
  reveal(number) {
    if (number < 1 || number > view.state.doc.lines) return;
    const { from } = view.state.doc.line(number);
    view.dispatch({ effects: EditorView.scrollIntoView(from, { y: "nearest", yMargin: 60 }) });
  },
  goTo(number) {
    const { from } = view.state.doc.line(Math.min(Math.max(number, 1), view.state.doc.lines));
    view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    view.focus();
  },
  /** Underline problems: {kind, message, line, column, end_column, severity, fixes}. */
  mark(problems) {
    const { doc } = view.state;
    const placed = problems.filter(({ line }) => line && line <= doc.lines);
    const diagnostics = placed.map((problem) => {
      const line = doc.line(problem.line);
      const indent = line.text.length - line.text.trimStart().length;
      const from = Math.min(line.from + (problem.column ?? indent), line.to);
      const to = Math.max(from, Math.min(line.from + (problem.end_column ?? line.length), line.to));
      return { from, to, severity: problem.severity, message: `${problem.kind}: ${problem.message}`, actions: actions(problem) };
    }).sort((a, b) => a.from - b.from);
    const button = $("#problems-button");
    if (diagnostics.length || marked) view.dispatch(setDiagnostics(view.state, diagnostics));
    marked = diagnostics.length > 0;
    const wrong = placed.filter(({ severity }) => severity !== "info");
    button.hidden = !wrong.length;
    button.textContent = counted(wrong.length, "problem");
    update({ failed: new Set(placed.filter(({ severity }) => severity === "error").map(({ line }) => line)) });
    offerFixes(doc.toString(), problems);
    showMessages(view, problems);
    if (doc === opened && wrong.length) editor.reveal(wrong[0].line);
    opened = null;
  },
};
