// Small helpers over the document.
export const $ = (selector, root = document) => root.querySelector(selector);
/** The data that the page holds in a JSON block. */
export const readJson = (id) => JSON.parse(document.getElementById(id).textContent);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A number with its noun: `1 line`, `24 lines`. */
export const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Let a text be scrolled as far as a width before its lines are: of those out of sight, no width is known. */
export const widen = (text, width) => text.style.setProperty("--wide", `${width}px`);

/** An element of a drawing, with its text. */
export function svgElement(tag, attributes = {}, text = "") {
  const made = document.createElementNS(document.querySelector("svg").namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  if (text) made.textContent = text;
  return made;
}

/** Wait until what was changed is painted. */
export const painted = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });

/** Say facts beside a title, each shown whole or not at all. */
export function tellFacts(box, words) {
  box.replaceChildren(...words.map((word, index) => element("span", {}, index ? ` · ${word}` : word)));
  box.title = words.join(" · ");
}

let hide;

/** Say something in passing; screen readers hear it from a region that was on the page before, as not all heed one that appears. */
export function toast(text) {
  const box = $("#toast");
  if (box.hidden || box.textContent !== text) announce(text);
  box.textContent = text;
  box.hidden = false;
  clearTimeout(hide);
  hide = setTimeout(() => { box.hidden = true; }, Math.max(4000, 60 * text.length)); // long enough to be read
}

export function announce(text) {
  $("#announce").textContent = text;
}

/** The pane that has this window to itself, if one has. */
export const ownWindow = document.body.dataset.window ?? "";

export const narrow = matchMedia("(max-width: 900px)");
