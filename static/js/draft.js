// What was typed survives a reload of the page; opening an example or a link anew starts afresh.
const RELOADED = new Set(["reload", "back_forward"]);
const key = () => `strata.draft:${location.pathname}${location.search}`;

export function readDraft() {
  const [navigation] = performance.getEntriesByType("navigation");
  if (!RELOADED.has(navigation?.type)) sessionStorage.removeItem(key());
  return sessionStorage.getItem(key());
}

export function keepDraft(script) {
  sessionStorage.setItem(key(), script);
}
