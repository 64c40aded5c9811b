// What an assembly instruction does, beside the pointer or the cursor line.
import { $, $$, element } from "./dom.js";
import { on } from "./state.js";

let texts = new Map(); // pane -> what each of its mnemonics does
let pointed = false; // whether the pointer asked for what is shown

export function startTips() {
  on("answered", read);
  on("text", read);
  read();
  $("#panes").addEventListener("pointerover", ({ target }) => {
    const mnemonic = target.closest(".l .k");
    if (textOf(mnemonic)) show(mnemonic, true);
    else leave();
  });
  $("#panes").addEventListener("pointerleave", leave);
  on("cursor", ({ line }) => {
    const finding = document.activeElement.closest(".find"); // it would cover the next matches
    const mnemonic = line && !finding ? $(".k", line) : null;
    if (textOf(mnemonic)) show(mnemonic, false);
    else hide();
  });
  document.addEventListener("focusout", hide);
}

function read() {
  texts = new Map($$("script.instructions").map((block) => [block.closest(".code").dataset.pane, JSON.parse(block.textContent)]));
}

const textOf = (mnemonic) => mnemonic && texts.get(mnemonic.closest(".code").dataset.pane)?.[mnemonic.textContent];

function show(mnemonic, byPointer) {
  pointed = byPointer;
  const tip = $("#tip");
  tip.replaceChildren(element("strong", {}, mnemonic.textContent), textOf(mnemonic));
  tip.hidden = false;
  const box = mnemonic.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
  const below = box.bottom + 6;
  tip.style.top = `${below + tip.offsetHeight < innerHeight ? below : box.top - tip.offsetHeight - 6}px`;
}

/** What the cursor asked for stays while panes scroll below a pointer that rests. */
function leave() {
  if (pointed) hide();
}

function hide() {
  $("#tip").hidden = true;
}
