// What a first visitor is told: what this is, what colours mean, and that lines are linked, which is demonstrated once.
import { $ } from "./dom.js";
import { editor } from "./editor.js";
import { recall, remember } from "./memory.js";
import { on, tell } from "./state.js";

const SEEN = "introduced"; // what this browser remembers: "closed", or that the demonstration was seen
const WAIT_MS = 1500; // after which it begins, unless the visitor does something before
const SHOWN_MS = 3500;
const OWN = ["pointermove", "pointerdown", "keydown", "wheel", "touchstart"]; // what the visitor does by themselves
const still = matchMedia("(prefers-reduced-motion: reduce)");

export function startIntro() {
  const box = $("#intro");
  if (!box || recall(SEEN) === "closed") return;
  box.hidden = false;
  $("#intro-close").addEventListener("click", () => {
    box.hidden = true;
    remember(SEEN, "closed");
  });
  if (recall(SEEN) === null && !still.matches) demonstrate();
}

/** Light up a line of the script and what became of it, as pointing at it does. */
function demonstrate() {
  const line = editor.text.split("\n").findIndex((text) => /\.vectorize\(/.test(text)) + 1;
  if (!line) return;
  const given = new AbortController();
  let timer = 0;
  const end = () => {
    clearTimeout(timer);
    given.abort();
    $("#intro").classList.remove("demonstrating");
  };
  for (const event of OWN) addEventListener(event, end, { signal: given.signal, passive: true });
  on("edited", end); // the line is one of the text before
  timer = setTimeout(() => {
    remember(SEEN, "seen");
    $("#intro").classList.add("demonstrating");
    editor.reveal(line);
    tell("source-lines", [line]);
    timer = setTimeout(() => { end(); tell("source-lines", []); }, SHOWN_MS);
  }, WAIT_MS);
  given.signal.addEventListener("abort", () => { if ($("#intro.demonstrating")) tell("source-lines", []); });
}
