// The examples: a search among their titles, words and headings.
import { $, $$ } from "./dom.js";

export function startGallery() {
  $("#gallery-search").addEventListener("input", ({ target }) => search(target.value.toLowerCase().split(/\s+/)));
}

/** Show the examples that have all words. */
function search(words) {
  for (const topic of $$("#gallery .topic")) {
    const heading = $("h3", topic).textContent;
    for (const card of $$("li", topic)) card.hidden = !words.every((word) => `${heading} ${card.textContent}`.toLowerCase().includes(word));
    topic.hidden = !$("li:not([hidden])", topic);
  }
  $("#gallery-none").hidden = Boolean($("#gallery .topic:not([hidden])"));
}
