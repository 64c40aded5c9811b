// The list of lessons: how far this browser has come with each.
import { $, $$ } from "../dom.js";
import { readProgress } from "../lesson-progress.js";
import { changeTheme } from "../memory.js";

for (const card of $$("[data-lesson]")) {
  const done = readProgress(card.dataset.lesson).done.length;
  if (done) $(".lesson-progress", card).textContent = done >= Number(card.dataset.steps) ? "✓ done" : `${done} done`;
}
$("#theme-button").addEventListener("click", changeTheme);
document.documentElement.dataset.ready = "true";
