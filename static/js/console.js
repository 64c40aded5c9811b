// The console follows its end, as a terminal does, unless the reader scrolled away from it.
import { $ } from "./dom.js";

const SLACK = 8; // pixels from the end that count as the end
let following = true;

export function startConsole() {
  const pane = $("#pane-console");
  pane.addEventListener("scroll", ({ target }) => {
    following = target.scrollTop + target.clientHeight >= target.scrollHeight - SLACK;
  }, true);
  new MutationObserver(follow).observe(pane, { childList: true, characterData: true, subtree: true });
  follow();
}

function follow() {
  const text = $("#pane-console .console");
  if (following) text.scrollTop = text.scrollHeight;
}
