// What was typed survives a reload of the page.  Opening an example or a link anew starts afresh, and offers it.
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
  remember(key(), script);
}

/** What was typed here last, in any tab; null where nothing was. */
export const lastDraft = () => recall(key());
