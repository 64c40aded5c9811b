// What the bars over a page have: buttons, and parts that are drawn again and again.
import { element } from "./dom.js";

export function button(text, action, attributes = {}) {
  const made = element("button", { type: "button", class: "small", ...attributes }, text);
  made.addEventListener("click", action);
  return made;
}

/** Show other parts in a box, if they say something else; what has the focus keeps it. */
export function swap(box, parts) {
  const text = parts.map((part) => part.outerHTML).join("|");
  if (box.dataset.text === text) return;
  const focused = box.contains(document.activeElement) ? document.activeElement.id : "";
  box.replaceChildren(...parts);
  box.dataset.text = text;
  if (focused) document.getElementById(focused)?.focus();
}
