// Says whether an opened link shows today what it showed when it was made.
import { $, narrow, toast } from "./dom.js";
import { on, state } from "./state.js";

let { made } = state; // told once: of the first answer to what was opened

export function startRemade() {
  on("answered", compare);
  for (const change of ["edited", "options"]) on(change, forget);
}

function forget() {
  made = null;
  $("#remade").hidden = true;
}

function compare({ outputs, status }) {
  if (!made || status !== "ok") return;
  const words = verdict(made, state.here, outputs);
  if (words) say(words);
  made = null;
}

/** What to say of outputs then and now; nothing where nothing is different. */
function verdict(then, now, outputs) {
  const panes = Object.keys(then.outputs).filter((pane) => then.outputs[pane] !== outputs[pane]);
  if (panes.length) return `recompiled; output differs in ${panes.join(", ")}`;
  if (then.compiler === now.compiler && then.cpu === now.cpu) return "";
  return Object.keys(then.outputs).length ? "recompiled; the same output" : "recompiled; the link was created elsewhere";
}

function say(words) {
  const box = $("#remade");
  const who = ({ compiler, cpu }) => [`Strata ${compiler}`, cpu].filter(Boolean).join(" on ");
  box.textContent = words;
  box.title = `Created with ${who(made)}; this is ${who(state.here)}`;
  box.hidden = false;
  if (narrow.matches) toast(words);
}
