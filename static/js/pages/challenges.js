// The list of challenges: one's own best, and a search.
import { readBest } from "../challenge/best.js";
import { $, $$, counted } from "../dom.js";
import { changeTheme } from "../memory.js";

for (const card of $$("[data-challenge]")) {
  const best = readBest(card.dataset.challenge);
  if (best) $(".lesson-progress", card).textContent = `you: ${best.words.split(" · ")[0]}`;
}
$("#challenge-search").addEventListener("input", ({ target }) => {
  const words = target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const item of $$(".lesson-cards li")) item.hidden = !words.every((word) => item.textContent.toLowerCase().includes(word));
  for (const section of $$("main section")) section.hidden = !$("li:not([hidden])", section);
  $("#challenge-found").textContent = words.length ? counted($$(".lesson-cards li:not([hidden])").length, "challenge") : "";
});
$("#theme-button").addEventListener("click", changeTheme);
document.documentElement.dataset.ready = "true";
