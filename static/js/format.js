// Formats the script by key or button, as one step that Undo takes back.
import { keymap } from "../vendor/codemirror.js";
import { announce, toast } from "./dom.js";

async function formatted(script) {
  const response = await fetch("/api/format", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ script }) }).catch(() => null); // no network: said below
  const answer = await response?.json().catch(() => null);
  if (!response?.ok) throw new Error(answer?.error?.message ?? "the server is not responding");
  return answer.script;
}

/** The one stretch in which two texts differ. */
function difference(before, after) {
  const room = Math.min(before.length, after.length);
  let head = 0;
  while (head < room && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < room - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  return { from: head, to: before.length - tail, insert: after.slice(head, after.length - tail) };
}

/** Format what an editor holds; what is typed meanwhile stays.
 * @param {import("../vendor/codemirror.js").EditorView} view */
export async function format(view) {
  const before = view.state.doc.toString();
  try {
    const after = await formatted(before);
    if (view.state.doc.toString() !== before) return;
    if (after === before) {
      announce("The script is already formatted");
      return;
    }
    const { doc, selection } = view.state;
    const line = doc.lineAt(selection.main.head);
    const column = selection.main.head - line.from;
    view.dispatch({ changes: difference(before, after), userEvent: "input.format" });
    const now = view.state.doc.line(Math.min(line.number, view.state.doc.lines));
    view.dispatch({ selection: { anchor: Math.min(now.from + column, now.to) }, scrollIntoView: true });
    announce("Formatted");
  } catch (error) {
    toast(`Not formatted: ${error.message}`);
  }
}

export const formatting = keymap.of([{ key: "Shift-Alt-f", preventDefault: true, run: (view) => { format(view); return true; } }]);
