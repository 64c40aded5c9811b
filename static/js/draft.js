// What was typed survives a reload of the page; opening an example or a link anew starts afresh.
import { forget, recall, remember } from "./memory.js";

const RELOADED = new Set(["reload", "back_forward"]);
const tab = () => sessionStorage;
const key = () => `draft:${location.pathname}${location.search}`;

export function readDraft() {
  const [navigation] = performance.getEntriesByType("navigation");
  if (!RELOADED.has(navigation?.type)) forget(key(), tab);
  return recall(key(), tab);
}

export function keepDraft(script) {
  remember(key(), script, tab);
}
