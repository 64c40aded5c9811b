// The side of a pane's own window: it shows what its page shows, and what is done in it is done there.
import { $, element, ownWindow } from "../dom.js";
import { ladder } from "../ladder.js";
import { focusPane, showAlone } from "../layout.js";
import { paneOf } from "../panes.js";
import { on, tell } from "../state.js";
import { link, say } from "./link.js";

const PATIENCE_MS = 5000; // after which a page that says nothing is not there
const THERE = "#run-button, #ladder-button, #share-button, #ladder-stop, #ladder-keep, #measure-kernels, #search-kernels"; // what the page does
const KEYS = { Enter: "#run-button", "Shift+Enter": "#ladder-button", s: "#share-button" }; // with Control or Command
let heard = false;

export function start() {
  showAlone(ownWindow);
  link(location.hash.slice(1), {
    mirror(shown) {
      tell("mirror", shown);
      if (!heard) focusPane(ownWindow);
      heard = true;
      $(".window-alone")?.remove(); // it was busy
    },
    chart: ladder.mirror,
  });
  document.addEventListener("click", pass, true);
  addEventListener("keydown", key, true);
  on("goto", (line) => say({ goto: line }));
  on("edited", title);
  for (const event of ["resize", "blur", "pagehide"]) addEventListener(event, sayPlace);
  say({ hello: ownWindow });
  setTimeout(sayAlone, PATIENCE_MS);
  title();
}

/** Let the page do what is measured, run or shown in other panes. */
function pass(event) {
  const there = event.target.closest(`${THERE}, [data-run], [data-open], [data-show-kernel]`);
  if (!there) return;
  event.preventDefault();
  event.stopPropagation();
  const { open, showKernel } = there.dataset;
  if (open) press(`[data-open="${open}"]`);
  else if (showKernel) press(`[data-show-kernel="${CSS.escape(showKernel)}"]`);
  else press(there.id ? `#${there.id}` : "#run-button");
}

function key(event) {
  const pressed = (event.ctrlKey || event.metaKey) && KEYS[event.shiftKey ? `Shift+${event.key}` : event.key];
  if (!pressed) return;
  event.preventDefault();
  event.stopPropagation();
  press(pressed);
}

const press = (selector) => say({ press: selector });

function sayPlace() {
  say({ place: { pane: ownWindow, place: `left=${screenX},top=${screenY},width=${innerWidth},height=${innerHeight}` } });
}

function sayAlone() {
  if (!heard) document.body.prepend(element("p", { class: "window-alone", role: "alert" }, "The page that this pane belongs to is closed. ", element("a", { href: "/" }, "Open the explorer")));
}

function title() {
  document.title = `${paneOf(ownWindow).title} · ${$("#title").textContent}`;
}
