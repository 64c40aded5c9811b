// What an assembly instruction does, beside the pointer or the cursor line.
import { $ } from "./dom.js";
import { on } from "./state.js";

let texts = {};

export function startTips() {
  on("answered", read);
  on("text", read);
  read();
  $("#pane-asm").addEventListener("pointerover", ({ target }) => {
    const mnemonic = target.closest(".l .k");
    if (mnemonic) show(mnemonic);
    else hide();
  });
  $("#pane-asm").addEventListener("pointerleave", hide);
  on("cursor", ({ pane, line }) => {
    const finding = document.activeElement.closest(".find"); // it would cover the next matches
    const mnemonic = pane === "asm" && line && !finding ? $(".k", line) : null;
    if (mnemonic) show(mnemonic);
    else hide();
  });
  document.addEventListener("focusout", hide);
}

function read() {
  const block = $("#instructions");
  texts = block ? JSON.parse(block.textContent) : {};
}

function show(mnemonic) {
  const text = texts[mnemonic.textContent];
  if (!text) {
    hide();
    return;
  }
  const tip = $("#tip");
  tip.replaceChildren();
  const name = document.createElement("strong");
  name.textContent = mnemonic.textContent;
  tip.append(name, text);
  tip.hidden = false;
  const box = mnemonic.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
  const below = box.bottom + 6;
  tip.style.top = `${below + tip.offsetHeight < innerHeight ? below : box.top - tip.offsetHeight - 6}px`;
}

function hide() {
  $("#tip").hidden = true;
}
