// Takes the colours of what links to nothing: in the blocks of lines that are in sight, as restyling all lines of a long
// listing takes longer than a frame.
import { $, $$ } from "./dom.js";

const MARGIN = "100px 0px"; // of what is nearly in sight, so that nothing is seen to change as it is scrolled there
const observers = new WeakMap(); // body of a listing -> observer of its blocks
const near = new Set();
let dimmed = false;

/** Find out which blocks of a listing are in sight, from now on.
 * @param {Element} body */
export function watchBlocks(body) {
  if (!observers.has(body)) observers.set(body, new IntersectionObserver(update, { root: body, rootMargin: MARGIN }));
  const observer = observers.get(body);
  for (const block of $$(":is(.chunk, .header) > div", body)) observer.observe(block);
}

function update(entries) {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) {
      near.delete(target);
      continue;
    }
    near.add(target);
    target.classList.toggle("linking", dimmed);
  }
}

/** Dim what links to nothing, or give everything its colours back.
 * @param {boolean} active */
export function dim(active) {
  dimmed = active;
  for (const node of [...near, $(".editor"), ...$$(".drawn")]) node?.classList.toggle("linking", active);
}
