// Asks for a link to compare with; that of the page, if it is one, is what changed since.
import { $ } from "./dom.js";
import { state } from "./state.js";

/** @returns {Promise<string>} an id or an address; empty where it was given up */
export function askForLink() {
  const dialog = $("#link-dialog");
  const input = $("input", dialog);
  input.value = state.link ? `/z/${state.link}` : "";
  dialog.returnValue = "";
  dialog.showModal();
  input.select();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "compare" ? input.value : ""), { once: true });
  });
}
