// Panes in windows of their own, on a second screen for example.  Such a window shows what this page does, and does what
// is done in it here; closing it brings the pane back to its place.
import { $, announce, narrow, ownWindow, toast } from "./dom.js";
import { recall, remember } from "./memory.js";
import { titleOf } from "./pane-tabs.js";
import { paneOf } from "./panes.js";
import { state, tell } from "./state.js";

const LOOK_MS = 300; // between two looks whether a window is still open
const LEAST = [480, 320]; // width and height of a window that was not resized yet

/** @type {Map<string, Window>} The panes that are away, and where. */
export const away = new Map();
let looking = 0;
let resting = null; // what has the focus instead of a pane that is away

/** Give a pane a window of its own.
 * @param {string} pane */
export function popOut(pane) {
  if (ownWindow || narrow.matches || document.body.classList.contains("reading") || !$(`[data-popout="${pane}"]`)) return;
  // At once: later, browsers would take it for a window that nobody asked for.
  const opened = window.open(`/window/${pane}#${state.tab}`, "", `popup,${placeOf(pane)}`);
  if (!opened) {
    toast(`The browser blocked the window: allow pop-ups of this page to give ${paneOf(pane).title} its own`);
    return;
  }
  const focused = document.activeElement?.closest(".pane")?.dataset.pane === pane || document.activeElement?.dataset.front === pane;
  away.set(pane, opened);
  import("./popout/page.js").then(({ start }) => start());
  looking ||= setInterval(look, LOOK_MS);
  tell("away");
  announce(`${paneOf(pane).title} has a window of its own; closing it brings the pane back`);
  const next = $("#panes .pane:not(.closed, .behind)");
  if (!focused || !next) return;
  resting = titleOf(next.dataset.pane);
  resting.focus();
}

/** Where the window of a pane was, in this session; else as large as the pane is. */
function placeOf(pane) {
  const kept = recall(`window:${pane}`, () => sessionStorage);
  if (kept) return kept;
  const { width, height } = $(`#pane-${pane}`).getBoundingClientRect();
  return `width=${Math.round(Math.max(width, LEAST[0]))},height=${Math.round(Math.max(height, LEAST[1]))}`;
}

/** Remember where the window of a pane is.
 * @param {string} pane
 * @param {string} place as `window.open` wants it */
export const keepPlace = (pane, place) => remember(`window:${pane}`, place, () => sessionStorage);

/** Bring back the panes whose windows were closed. */
function look() {
  for (const [pane, { closed }] of away) {
    if (!closed) continue;
    away.delete(pane);
    tell("away");
    announce(`${paneOf(pane).title} is back`);
    if (resting && document.activeElement === resting) titleOf(pane).focus();
  }
  if (away.size) return;
  clearInterval(looking);
  looking = 0;
}

addEventListener("pagehide", () => { for (const opened of away.values()) opened.close(); });
