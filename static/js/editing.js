// How one reads and writes: with or without word wrap and hints, and with which editor's keys.  This browser remembers it.
import { Compartment, EditorView } from "../vendor/codemirror.js";
import { $, announce, toast } from "./dom.js";
import { recall, remember } from "./memory.js";

/** The keys of other editors; each is a module of its own, loaded once it is chosen. */
const BINDINGS = {
  vim: () => import("../vendor/keys/vim.js").then(({ vim }) => vim({ status: true })),
  emacs: () => import("../vendor/keys/emacs.js").then(({ emacs }) => emacs()),
};
const bindings = new Compartment();
const wrapping = new Compartment();
const phone = matchMedia("(max-width: 560px)");
const wraps = () => recall("wrap") !== "no";

/** What the choices change; other editors' keys come before our own. */
export const editing = [bindings.of([]), wrapping.of(wraps() ? EditorView.lineWrapping : [])];

/** Offer the choices in the menu, and take those that this browser remembers.
 * @param {EditorView} view */
export function startEditing(view) {
  const wrap = $("#wrap-lines");
  wrap.checked = wraps();
  document.documentElement.classList.toggle("unwrapped", !wraps());
  wrap.addEventListener("change", () => {
    remember("wrap", wrap.checked ? "yes" : "no");
    document.documentElement.classList.toggle("unwrapped", !wrap.checked);
    view.dispatch({ effects: wrapping.reconfigure(wrap.checked ? EditorView.lineWrapping : []) });
  });
  const hints = $("#inlay-hints");
  hints.checked = (recall("hints") ?? (phone.matches ? "no" : "yes")) === "yes";
  document.documentElement.classList.toggle("unhinted", !hints.checked);
  hints.addEventListener("change", () => {
    remember("hints", hints.checked ? "yes" : "no");
    document.documentElement.classList.toggle("unhinted", !hints.checked);
    view.requestMeasure();
  });
  const keys = $("#editor-keys");
  keys.addEventListener("change", () => {
    remember("keys", keys.value);
    bind(view, keys.value).then(() => announce(`Keys: ${keys.selectedOptions[0].text}`));
  });
  const chosen = recall("keys");
  if (chosen in BINDINGS) {
    keys.value = chosen;
    bind(view, chosen);
  }
}

async function bind(view, name) {
  try {
    view.dispatch({ effects: bindings.reconfigure((await BINDINGS[name]?.()) ?? []) });
  } catch {
    toast("These key bindings could not be loaded");
  }
}

/** Leave the editor for the frame around it, where the page's own keys work; Enter goes back.
 * @param {EditorView} view */
export function leaveEditor(view) {
  const frame = view.dom.parentElement;
  frame.focus();
  announce("Left the editor: press Enter to return to it, Tab to move on");
  return true;
}

/** Around the editor, Enter goes back into it, and Tab on to what stands behind it: inside, Tab indents. */
export function listenAround(view) {
  const frame = view.dom.parentElement;
  frame.addEventListener("keydown", (event) => {
    if (event.target !== frame || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") {
      event.preventDefault();
      view.focus();
    } else if (event.key === "Tab" && !event.shiftKey) {
      view.dom.inert = true; // while the browser looks for what is next
      const open = () => { view.dom.inert = false; };
      frame.addEventListener("blur", open, { once: true }); // keys come before timers: the next one may come back
      setTimeout(open);
    }
  });
}
