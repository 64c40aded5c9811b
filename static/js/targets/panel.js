// Several targets side by side: the assembly for each in a pane of its own, with the figures of its hot loop on top.
import { along, beside } from "../arrangement.js";
import { adapt, current } from "../docking.js";
import { $, $$, element, narrow } from "../dom.js";
import { setOpen } from "../layout.js";
import { PANES } from "../panes.js";
import { figuresOf, told } from "../slider/figures.js";
import { on, state, tell } from "../state.js";

const FIRST = "asm";
const COPIES = PANES.filter(({ copy_of: original }) => original === FIRST).map(({ name }) => name);
const MOST = COPIES.length + 1; // targets
const SHARES = [55, 45]; // of the page's height, above the targets and theirs
let dialog = null;
const known = new Map(); // listing and machine -> figures in words

const isOpen = (pane) => !$(`#pane-${pane}`).classList.contains("closed");
const shownTargets = () => [$("#assembly").value, ...COPIES.filter(isOpen).map((pane) => $(`[data-machine="${pane}"]`).value)];

/** Let the visitor choose what stands side by side. */
export function chooseTargets() {
  dialog?.remove();
  const chosen = new Set(shownTargets());
  const boxes = $$(`[data-machine="${COPIES[0]}"] option`).map(({ value, text }) => {
    const box = element("input", { type: "checkbox", value });
    box.checked = chosen.has(value);
    return element("label", {}, box, text);
  });
  const show = element("button", { type: "submit", class: "primary" }, "Show side by side");
  const form = element("form", { method: "dialog", class: "targets" }, ...boxes, show);
  const limit = () => {
    const count = $$("input:checked", form).length;
    for (const box of $$("input", form)) box.disabled = !box.checked && count >= MOST;
    show.disabled = count < 1;
  };
  form.addEventListener("change", limit);
  form.addEventListener("submit", () => place($$("input:checked", form).map(({ value }) => value)));
  const close = element("form", { method: "dialog" }, element("button", { class: "icon", "aria-label": "Close" }, "✕"));
  dialog = element("dialog", { class: "sheet narrow", "aria-labelledby": "targets-title" },
    element("header", {}, element("h2", { id: "targets-title" }, "Targets side by side"), close),
    element("p", { class: "hint" }, `The same loops compiled for up to ${MOST} targets. Only the target as built runs.`), form);
  document.body.append(dialog);
  limit();
  dialog.addEventListener("click", ({ target }) => { if (target === dialog) dialog.close(); });
  dialog.showModal();
}

/** Show the assembly for each of some targets, the first in the pane that there is. */
function place([first, ...others]) {
  const were = COPIES.filter(isOpen);
  state.options.assembly = first;
  const further = others.filter((key) => key !== "host");
  if (further.length) state.options.assembly_also = [...further].sort();
  else delete state.options.assembly_also;
  delete state.view[FIRST];
  COPIES.forEach((pane, index) => {
    if (others[index]) state.view[pane] = $(`[data-machine="${pane}"] option[value="${others[index]}"]`).dataset.step;
    setOpen(pane, index < others.length);
  });
  $("#assembly").value = first;
  if (others.length && !were.length && !narrow.matches) inOneRow(COPIES.slice(0, others.length));
  tell("options");
}

/** Give the panes a row of their own below all others, where each has a third of the page's width. */
function inOneRow(copies) {
  const below = along(current(), FIRST, "bottom");
  below.sizes = SHARES.length === below.sizes.length ? SHARES : below.sizes;
  let arranged = below;
  copies.forEach((pane, index) => { arranged = beside(arranged, pane, index ? copies[index - 1] : FIRST, "right"); });
  const row = arranged.parts.at(-1);
  if (row.sizes) row.sizes = row.parts.map(() => 1);
  adapt(arranged);
}

/** Say above each assembly what its hot loop consists of, where several are shown. */
async function tellFigures() {
  const panes = [FIRST, ...COPIES].filter(isOpen);
  for (const line of $$(".hot-figures")) if (panes.length < 2 || !panes.includes(line.dataset.of)) line.remove();
  if (panes.length < 2) return;
  await Promise.all(panes.map(async (pane) => {
    const key = $(`#body-${pane}`).dataset.listing;
    const machine = $(pane === FIRST ? "#assembly" : `[data-machine="${pane}"]`).value;
    const place = `${key} ${machine}`;
    let line = $(`.hot-figures[data-of="${pane}"]`);
    if (!line) {
      line = element("p", { class: "hot-figures", "data-of": pane });
      $(`#body-${pane}`).before(line);
    }
    line.dataset.place = place;
    if (key && !known.has(place)) known.set(place, told(await figuresOf(key, machine)));
    if (line.dataset.place === place) line.textContent = known.get(place) ?? "compiling …"; // an answer brings the listing
  }));
}

for (const event of ["answered", "shown"]) on(event, tellFigures);
on("text", (pane) => { if ([FIRST, ...COPIES].includes(pane)) tellFigures(); });
tellFigures();
