// A lesson or a challenge beside the workspace; where there is little room, one or the other.
import { $$, narrow } from "./dom.js";

let panel = null;

/** @param {HTMLElement} shown the panel of the lesson or the challenge */
export function startBeside(shown) {
  panel = shown;
  for (const button of $$("[data-lesson-view]")) button.addEventListener("click", () => view(button.dataset.lessonView));
  narrow.addEventListener("change", () => view(document.body.classList.contains("at-work") ? "workspace" : "lesson"));
  view("lesson");
}

/** Show the workspace, where it is not beside the text. */
export const showWorkspace = () => view("workspace");

function view(name) {
  const alone = narrow.matches && name === "lesson"; // then it is the page's main part
  document.body.classList.toggle("at-work", name === "workspace");
  panel.setAttribute("role", alone ? "main" : "complementary");
  for (const button of $$("[data-lesson-view]")) button.setAttribute("aria-pressed", String(button.dataset.lessonView === name));
}
