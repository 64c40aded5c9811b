// Long listings arrive in chunks: the ones near the viewport are fetched.
import { $, $$, painted, widen } from "./dom.js";
import { LISTINGS } from "./panes.js";
import { on, tell } from "./state.js";

const observers = new Map();

export function startListings() {
  LISTINGS.forEach(watch);
  on("answered", () => LISTINGS.forEach(watch));
  on("text", watch);
  document.addEventListener("htmx:responseError", ({ target }) => {
    // The server has forgotten this text: another answer brings it back, once.
    if (!target.matches?.(".chunk.waiting") || target.dataset.asked) return;
    target.dataset.asked = "again";
    tell("options");
  });
  document.addEventListener("htmx:afterSettle", ({ target }) => {
    const body = target.closest?.(".code");
    if (body && target.matches(".chunk")) tell("chunk", body.dataset.pane);
  });
}

/** The height of a line that needs one row, in pixels. */
export const rowHeight = (body) => parseFloat(getComputedStyle(body).lineHeight);

/** How far below the beginning of its text a line is, in pixels; where lines wrap, it is measured. */
export function topOf(body, index) {
  const line = body.matches(".wraps") && $(`.l[data-i="${index}"]`, body);
  return line ? line.getBoundingClientRect().top - body.getBoundingClientRect().top + body.scrollTop : index * rowHeight(body);
}

/** Scroll a pane to the first of some lines, unless one of them is in sight. */
export function scrollTo(pane, lines) {
  const body = $(`#body-${pane}`);
  const height = rowHeight(body);
  const top = body.scrollTop;
  const bottom = top + body.clientHeight;
  const seen = lines.some((index) => { const start = topOf(body, index); return start >= top && start + height <= bottom; });
  if (!seen) body.scrollTop = Math.max(0, topOf(body, lines[0]) - body.clientHeight / 3);
}

/** Scroll a pane that shows a difference to what changed, unless some of it is in sight. */
export function scrollToChange(pane) {
  const lines = $$(`#body-${pane} :is(.added, .removed)`).map(({ dataset }) => Number(dataset.i));
  if (lines.length) scrollTo(pane, lines);
}

/** Let a pane show another text, with its facts; how far the visitor has scrolled stays.
 * @param {string} pane
 * @param {DocumentFragment} content the two as the server draws them */
export function showText(pane, content) {
  const [body, text] = [$(`#body-${pane}`), $(`#body-${pane}`, content)];
  if (body.dataset.key !== text.dataset.key || "omitted" in body.dataset) replace(body, text);
  Idiomorph.morph($(`#facts-${pane}`), $(`#facts-${pane}`, content));
}

function replace(body, text) {
  const width = body.scrollLeft && body.scrollLeft + body.clientWidth; // read before anything is written: the page is laid out now
  const held = holdBack(body, text);
  for (const name of body.getAttributeNames()) if (!text.hasAttribute(name)) body.removeAttribute(name);
  for (const { name, value } of text.attributes) if (body.getAttribute(name) !== value) body.setAttribute(name, value);
  // All lines at once: to find out which of them stay costs more than to draw those in sight anew.
  body.replaceChildren(...text.childNodes);
  if (width) widen(body, width);
  if (held.size) painted().then(() => putBack(body, held));
}

/** Take the lines out of a text that would be out of sight, so that the others are painted sooner; their blocks stay, as high
 * as they are. */
function holdBack(body, text) {
  const held = new Map(); // block -> lines
  const row = rowHeight(body);
  if ($(".diff", text)) return held; // those of a difference are searched as they stand here
  const wraps = body.matches(".wraps");
  const [top, bottom] = [body.scrollTop, body.scrollTop + body.clientHeight].map((pixels) => pixels / row);
  for (const block of $$(".chunk:not(.waiting) > div", text)) {
    const lines = [...block.children];
    const first = Number(lines[0].dataset.i);
    if (first <= bottom && (wraps || first + lines.length >= top)) continue; // where lines wrap, those of fewer rows than it seems are above
    held.set(block, lines);
    block.style.height = `${lines.length * row}px`;
    block.replaceChildren();
  }
  return held;
}

function putBack(body, held) {
  const [first] = held.keys();
  if (!body.contains(first)) return; // another text has taken its place
  for (const [block, lines] of held) {
    block.removeAttribute("style");
    block.append(...lines);
  }
  tell("chunk", body.dataset.pane);
}

/** Fetch the chunks of a listing that come near its viewport. */
function watch(pane) {
  observers.get(pane)?.disconnect();
  const body = $(`#body-${pane}`);
  htmx.process(body);
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      htmx.trigger(target, "strata:near");
    }
  }, { root: body, rootMargin: "1500px 0px" });
  observers.set(pane, near);
  for (const chunk of $$(".chunk.waiting", body)) near.observe(chunk);
}
