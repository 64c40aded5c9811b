export { EditorState, StateEffect, StateField, Compartment, RangeSetBuilder, Prec } from "@codemirror/state";
export {
  EditorView, Decoration, WidgetType, keymap, lineNumbers, drawSelection,
  highlightActiveLineGutter, hoverTooltip, showTooltip,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab, toggleTabFocusMode } from "@codemirror/commands";
export { HighlightStyle, syntaxHighlighting, syntaxTree, bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
export { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
export { setDiagnostics, lintKeymap } from "@codemirror/lint";
export { searchKeymap, highlightSelectionMatches } from "@codemirror/search";
export { python } from "@codemirror/lang-python";
export { tags } from "@lezer/highlight";
// What the keys of Vim and Emacs need of the editor besides; they are modules of their own.
export { EditorSelection, MapMode } from "@codemirror/state";
export { Direction, ViewPlugin, getDrawSelectionConfig, runScopeHandlers, showPanel } from "@codemirror/view";
export * from "@codemirror/commands";
export { StringStream, ensureSyntaxTree, foldCode, matchBrackets } from "@codemirror/language";
export { completionStatus, startCompletion } from "@codemirror/autocomplete";
export { RegExpCursor, SearchQuery, openSearchPanel, setSearchQuery } from "@codemirror/search";
