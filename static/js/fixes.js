// Quick fixes: what the server proposes beside an error, as buttons there, in the list of problems and in the console,
// and by a key.  Each is one step that Undo takes back.
import { keymap } from "../vendor/codemirror.js";
import { announce } from "./dom.js";
import { editor } from "./editor.js";
import { tell } from "./state.js";

let offered = { script: "", problems: [] }; // for the text that they were computed of

/** @param {string} script
 * @param {{line?: number, fixes: {label: string, edits?: object[], attach?: string}[]}[]} problems */
export const offerFixes = (script, problems) => { offered = { script, problems }; };

/** Names of files that the script asks for and does not find. */
export const missingFiles = () => offered.problems.flatMap(({ fixes }) => fixes.map(({ attach }) => attach));

/** Apply one, unless the text has changed since: a newer answer is on its way then. */
function apply(fix) {
  if (!fix || offered.script !== editor.text) return;
  if (fix.attach) return tell("attach", fix.attach);
  editor.replaceLines(...fix.edits);
  editor.mark([]);
  editor.focus();
  announce(`${fix.label}: done, Undo takes it back`);
}

/** What the list of problems offers for one. */
export const actions = ({ fixes }) => fixes.map((fix) => ({ name: fix.label, apply: () => apply(fix) }));

/** The key applies the first fix of the line where the cursor is, else the first of all. */
function applyFirst() {
  const fixable = offered.problems.filter(({ fixes }) => fixes.length);
  apply((fixable.find(({ line }) => line === editor.line) ?? fixable[0])?.fixes[0]);
  return true;
}

export const fixing = keymap.of([{ key: "Mod-.", run: applyFirst }]);

document.addEventListener("click", ({ target }) => {
  const [problem, fix] = target.closest("[data-fix]")?.dataset.fix.split(".") ?? [];
  if (problem) apply(offered.problems[problem]?.fixes[fix]);
});
