// What was typed, and for which target, survives a reload of the page.  Opening an example or a link anew starts afresh,
// and offers what was typed there before, in this tab or in others: no tab writes over the text of another.
import { $, $$ } from "./dom.js";
import { forget, recall, remember, remembered } from "./memory.js";
import { decode, encode, on, state } from "./state.js";

const RELOADED = new Set(["reload", "back_forward"]);
const MAX_DRAFTS = 8; // of an address, those of other tabs included
const MAX_BYTES = 1 << 20; // of the attached files that a tab keeps
const tab = () => sessionStorage;
const address = () => `${location.pathname}${location.search}`;
const reloaded = () => RELOADED.has(performance.getEntriesByType("navigation")[0]?.type);

/** What this tab kept of this address, where the page was reloaded.
 * @param {string} name
 * @returns {string | null} */
export const readHere = (name) => (reloaded() ? recall(`${name}:${address()}`, tab) : null);
export const keepHere = (name, text) => remember(`${name}:${address()}`, text, tab);

/** Let the page have another address, where what goes on is found again. */
export function moveTo(path) {
  const search = recall(`search:${address()}`, tab);
  keepHere("search", "");
  history.replaceState(null, "", path);
  keepHere("search", search ?? "");
}

export function readDraft() {
  if (!reloaded()) for (const name of ["draft", "options"]) forget(`${name}:${address()}`, tab);
  return recall(`draft:${address()}`, tab);
}

export function keepDraft(script) {
  remember(`draft:${address()}`, script, tab);
  remember(`drafts:${address()}#${state.tab}`, `${Date.now()} ${script}`);
}

/** What was typed at this address, in any tab, the newest first. */
export function lastDrafts() {
  const read = (key) => /^(\d+) ([^]*)$/.exec(recall(key) ?? "");
  const drafts = remembered(`drafts:${address()}#`).map((key) => ({ key, parts: read(key) })).filter(({ parts }) => parts);
  drafts.sort((a, b) => b.parts[1] - a.parts[1]);
  for (const { key } of drafts.splice(MAX_DRAFTS)) forget(key);
  return [...new Set(drafts.map(({ parts }) => parts[2]))];
}

/** Go on with the options and the files that the page was reloaded with; those of lessons are theirs. */
export function startDraft() {
  if (document.body.matches(".teaching, .reading")) return;
  const kept = recall(`options:${address()}`, tab);
  if (kept !== null) {
    const { options, uploads, files, view } = JSON.parse(kept);
    state.options = options;
    state.uploads = new Map(Object.entries(uploads));
    if (files) state.files = new Map(Object.entries(files).map(([name, content]) => [name, decode(content)]));
    Object.assign(state.view, view);
    state.compiled = false;
    restoreControls(options);
  }
  for (const event of ["options", "edited", "text", "shown"]) on(event, keepWorkspace);
}

let turn = 0;

/** Keep options, the chosen steps and files, unless these are too large. */
export async function keepWorkspace() {
  const mine = turn += 1;
  const { options, view } = state;
  const uploads = Object.fromEntries(state.uploads);
  const size = [...state.files.values()].reduce((sum, file) => sum + file.size, 0);
  const files = size > MAX_BYTES ? undefined : Object.fromEntries(await Promise.all([...state.files].map(async ([name, file]) => [name, await encode(file)])));
  if (mine === turn) remember(`options:${address()}`, JSON.stringify({ options, uploads, files, view }), tab);
}

/** The page's controls say what the options are. */
export function restoreControls({ target = "llvm -mcpu=native", opt_level: level = 3, threads = 1, assembly = "host", assembly_filters: filters = [], llvm_passes: passes = false }) {
  for (const [name, value] of Object.entries({ target, opt_level: level, threads })) $(`#options-form [name="${name}"]`).value = value;
  $("#assembly").value = assembly;
  for (const box of $$("#asm-filters [name]")) box.checked = filters.includes(box.name);
  $("#llvm-passes").setAttribute("aria-pressed", String(passes));
}
