// The page's side of its panes' windows: it compiles, measures and runs, and tells them what they show.
import { $, $$ } from "../dom.js";
import { editor } from "../editor.js";
import { ladder } from "../ladder.js";
import { setting } from "../live/setting.js";
import { PANES } from "../panes.js";
import { keepPlace } from "../popout.js";
import { linkedView, on, state, tell } from "../state.js";
import { link, say } from "./link.js";

let started = false;

export function start() {
  if (started) return;
  started = true;
  link(state.tab, {
    hello: welcome,
    place: ({ pane, place }) => keepPlace(pane, place),
    press: (selector) => $(selector)?.click(),
    goto: (line) => tell("goto", line),
  });
  on("swapped", (mirror) => say({ mirror }));
  on("text", (pane) => say({ mirror: { kind: "text", pane, html: snapshot(`#pane-${pane}`) } }));
  on("charted", (chart) => say({ chart }));
  welcome(); // for a window that asked while this module was on its way
}

/** Tell a window that opened all that there is. */
async function welcome() {
  const files = await setting();
  const { pin: at = "" } = linkedView();
  const html = snapshot("#strip", "#answer", "#state", ...PANES.slice(1).map(({ name }) => `#pane-${name}`)); // all but the script's
  say({ script: editor.text, setting: files, mirror: { kind: "answer", html }, light: { at, fixed: true }, ...(ladder.chart && { chart: ladder.chart }) });
}

/** Parts of the page as an answer has them. */
function snapshot(...selectors) {
  return selectors.map((selector) => {
    const part = $(selector);
    const copy = part.cloneNode(true);
    copy.setAttribute("hx-swap-oob", "morph");
    for (const node of [copy, ...$$("[style]", copy)]) node.removeAttribute("style"); // which the page's policy forbids
    const choices = $$("option", part);
    $$("option", copy).forEach((option, index) => option.toggleAttribute("selected", choices[index].selected));
    return copy.outerHTML;
  }).join("");
}
