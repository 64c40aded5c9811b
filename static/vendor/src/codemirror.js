export { EditorState, StateEffect, StateField, Compartment, RangeSetBuilder, Prec } from "@codemirror/state";
export {
  EditorView, Decoration, GutterMarker, gutter, gutterLineClass, keymap, lineNumbers, drawSelection, highlightActiveLine,
  highlightActiveLineGutter, highlightSpecialChars, hoverTooltip, showTooltip, placeholder,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab, toggleTabFocusMode } from "@codemirror/commands";
export { HighlightStyle, syntaxHighlighting, syntaxTree, bracketMatching, indentOnInput, indentUnit } from "@codemirror/language";
export { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
export { setDiagnostics, lintGutter, lintKeymap } from "@codemirror/lint";
export { searchKeymap, highlightSelectionMatches } from "@codemirror/search";
export { python, pythonLanguage } from "@codemirror/lang-python";
export { tags } from "@lezer/highlight";
