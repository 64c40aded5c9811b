// What is pinned and banned for the next search, by the workload of a kernel, of a function by "": in the view, as what a
// reload and links keep.
import { state } from "../state.js";
import { isChoice, parse } from "./log.js";

const MOST_TEXT = 1900; // characters that a link takes as one value, and a little room
const MOST_WISHES = 50; // as of app/searches.py
const MOST_KERNELS = 11; // the hottest ten, and a function

const names = Array.from({ length: MOST_KERNELS }, (_, at) => `wishes${at}`);
const areChoices = (some) => Array.isArray(some) && some.length <= MOST_WISHES && some.every(isChoice);

/** What is wished; whoever made a link may have written something else, which is left out.
 * @returns {Map<string, {pinned: [string, unknown][], banned: [string, unknown][]}>} */
export function readWishes() {
  const entries = names.map((name) => parse(state.view[name] ?? "")).filter((entry) => Array.isArray(entry) && typeof entry[0] === "string" && areChoices(entry[1]) && areChoices(entry[2]));
  return new Map(entries.map(([kernel, pinned, banned]) => [kernel, { pinned, banned }]));
}

/** Keep what is wished; returns false if that is more than a link can hold, and nothing has changed. */
export function keepWishes(wishes) {
  const some = [...wishes].filter(([, { pinned, banned }]) => pinned.length + banned.length);
  const texts = some.map(([kernel, { pinned, banned }]) => JSON.stringify([kernel, pinned, banned]));
  if (texts.length > MOST_KERNELS || texts.some((text) => text.length > MOST_TEXT) || some.some(([, its]) => !areChoices(its.pinned) || !areChoices(its.banned))) return false;
  for (const name of names) delete state.view[name];
  texts.forEach((text, at) => { state.view[names[at]] = text; });
  return true;
}
