// What an instruction does, beside the pointer, a tap or the cursor line; the rest of it is loaded when it is asked for.
import { $ } from "./dom.js";
import { on } from "./state.js";

const TIPS = ".code[data-tips]";
const PATIENCE = 120; // milliseconds that the pointer rests before anything is asked for

let module = null; // ./tips/tip.js
let shown = null; // the line that the tip is about
let pointed = false; // whether the pointer asked for what is shown
let waiting = 0;

export function startTips() {
  const panes = $("#panes");
  panes.addEventListener("pointerover", ({ target, pointerType }) => {
    if (pointerType === "touch") return; // a tap is a click, below
    clearTimeout(waiting);
    const word = wordAt(target);
    if (word && word.closest(".l") === shown) return;
    leave();
    if (word) waiting = setTimeout(tell, PATIENCE, word, true);
  });
  panes.addEventListener("click", ({ target, pointerType }) => { if (pointerType === "touch") tell(wordAt(target), false); });
  panes.addEventListener("pointerleave", () => { clearTimeout(waiting); leave(); });
  on("cursor", ({ line }) => {
    const finding = document.activeElement.closest(".find"); // it would cover the next matches
    tell(line?.closest(TIPS) && !finding ? $(".k", line) ?? $("span", line) : null, false);
  });
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", ({ key }) => { if (key === "Escape") hide(); });
  on("answered", hide);
  on("text", hide);
}

/** The word of an instruction. */
const wordAt = (target) => (target.closest(TIPS) ? target.closest(".l .k, .l .f, .l .c") : null);

/** Say what the instruction does that a word belongs to; null hides the tip. */
async function tell(word, byPointer) {
  const line = word?.closest(".l");
  shown = line;
  pointed = byPointer;
  const tip = line && (module ??= await import("./tips/tip.js")) && (await module.tipOf(line));
  if (shown !== line) return;
  if (tip && line.isConnected) module.show(tip, line, word);
  else hide();
}

/** What the cursor asked for stays while panes scroll below a pointer that rests. */
function leave() {
  if (pointed) hide();
}

function hide() {
  shown = null;
  module?.hide();
}
