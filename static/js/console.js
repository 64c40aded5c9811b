// The console follows its end, as a terminal does, unless the reader scrolled away from it.  Of a problem that has no
// room there, the beginning is shown.
import { $ } from "./dom.js";

const SLACK = 8; // pixels from the end that count as the end
let following = true;
let followed = 0; // how far it was scrolled to follow

export function startConsole() {
  const pane = $("#pane-console");
  pane.addEventListener("scroll", ({ target }) => {
    following = Math.abs(target.scrollTop - followed) < 1 || target.scrollTop + target.clientHeight >= target.scrollHeight - SLACK;
  }, true);
  pane.addEventListener("click", ({ target }) => {
    const { shows, at } = target.closest("[data-shows]")?.dataset ?? {};
    if (!shows) return;
    $(`#strip [data-level=${shows === "unit" ? "code" : "graph"}]`)?.click();
    const choice = $(`#${shows}`);
    if (!choice) return; // there is only one
    choice.value = at;
    choice.dispatchEvent(new Event("change", { bubbles: true }));
  });
  new MutationObserver(follow).observe(pane, { childList: true, characterData: true, subtree: true });
  follow();
}

function follow() {
  const text = $("#pane-console .console");
  if (!following) return;
  text.scrollTop = text.scrollHeight;
  const above = ($(".problem", text)?.getBoundingClientRect().top ?? Infinity) - text.getBoundingClientRect().top;
  if (above < 0) text.scrollTop += above;
  followed = text.scrollTop;
}
