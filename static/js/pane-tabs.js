// The tabs of panes that share a cell: one of them shows, the others are a click or a key away.
import { $, $$, element } from "./dom.js";
import { paneOf } from "./panes.js";

const STEPS = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };

/** The bar of a cell, which is made with it. */
export const makeBar = () => element("div", { class: "pane-tabs", role: "tablist", "aria-label": "Panes in one place" });

/** Show one of a cell's open panes, and a tab for each of them where there are several.
 * @param {Element} cell
 * @param {string[]} panes all of them
 * @param {string[]} open
 * @param {string | undefined} front */
export function showTabs(cell, panes, open, front) {
  const bar = $(".pane-tabs", cell);
  const grouped = open.length > 1;
  cell.classList.toggle("grouped", grouped);
  bar.hidden = !grouped;
  if (bar.dataset.panes !== String(open)) {
    bar.dataset.panes = String(open);
    bar.replaceChildren(...open.map(makeTab));
  }
  for (const tab of bar.children) {
    tab.setAttribute("aria-selected", String(tab.dataset.front === front));
    tab.tabIndex = tab.dataset.front === front ? 0 : -1;
  }
  for (const pane of panes) {
    const section = $(`#pane-${pane}`);
    section.classList.toggle("behind", grouped && pane !== front);
    if (!grouped) { alone(section); continue; }
    section.setAttribute("role", "tabpanel");
    section.setAttribute("aria-labelledby", `tab-${pane}`);
  }
}

/** Let a pane be one that has its cell to itself. */
export function alone(section) {
  section.classList.remove("behind");
  section.removeAttribute("role");
  section.setAttribute("aria-labelledby", `title-${section.dataset.pane}`);
}

const makeTab = (pane) => element("button", {
  type: "button", role: "tab", id: `tab-${pane}`, "data-front": pane, "aria-controls": `pane-${pane}`,
  title: "Show this pane; again to maximise it; drag to move it  (T takes it out of the tabs)",
}, paneOf(pane).title);

/** What a pane is called on the page, for the focus to go to: its tab, or its title. */
export const titleOf = (pane) => ($(`#pane-${pane}`).matches(".grouped > *") ? $(`#tab-${pane}`) : $(`#pane-${pane} .heading`));

/** Tabs lead from one to the next by arrow keys; each shows its pane.
 * @param {(pane: string) => void} show */
export function startTabs(show) {
  $("#panes").addEventListener("keydown", (event) => {
    const tab = event.target.closest(".pane-tabs > [role='tab']");
    const step = tab && !event.altKey && !event.ctrlKey && !event.metaKey && STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const tabs = $$("[role='tab']", tab.parentElement);
    const next = tabs[Math.min(tabs.length - 1, Math.max(0, tabs.indexOf(tab) + step))];
    show(next.dataset.front);
    next.focus();
  });
}
