// Opens the field that finds in a listing; its module is loaded once a listing has the focus.
import { $, toast } from "./dom.js";
import { LISTINGS } from "./panes.js";

const load = () => import("./find/bar.js");

export function startFind() {
  $("#panes").addEventListener("focusin", ({ target }) => { if (target.matches(".code")) load().catch(() => null); }); // told once it is asked for
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-find]");
    if (button) openFind(button.dataset.find);
  });
}

/** Open the field in which a pane is searched.
 * @param {string} pane */
export async function openFind(pane) {
  if (!LISTINGS.includes(pane)) return;
  const bar = await load().catch(() => null);
  if (bar) bar.open(pane);
  else toast("The server is not responding");
}
