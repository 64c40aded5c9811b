// The list of lessons: how far this browser has come with each.
import { $, $$, element } from "../dom.js";
import { readProgress } from "../lesson-progress.js";
import { changeTheme } from "../memory.js";

for (const card of $$("[data-lesson]")) {
  const done = readProgress(card.dataset.lesson).done.length;
  if (done) $(".lesson-progress", card).textContent = done >= Number(card.dataset.steps) ? "✓ done" : `${done} done`;
}
const cards = $$("[data-lesson]");
const finished = cards.findIndex(({ dataset }) => dataset.lesson === new URLSearchParams(location.search).get("done"));
if (finished >= 0) {
  const next = [...cards.slice(finished + 1), ...cards.slice(0, finished)].find(({ dataset }) => readProgress(dataset.lesson).done.length < Number(dataset.steps));
  const said = element("p", { class: "lesson-finished", role: "status" }, "✓ You have done ", element("strong", {}, $("strong", cards[finished]).textContent), next ? ". Next: " : ", and with it all lessons.");
  if (next) said.append(element("a", { href: next.href }, $("strong", next).textContent));
  $("main h1").after(said);
}
$("#theme-button").addEventListener("click", changeTheme);
document.documentElement.dataset.ready = "true";
