// The timeline: schedule primitives, passes, LLVM's stages; stepping and comparing.
import { bringForward } from "./docking.js";
import { $, $$, painted } from "./dom.js";
import { compareModel } from "./files.js";
import { fetchAhead, fragment } from "./fragments.js";
import { KEEP, LINK, baseline, compare, forget, keep, keepLink, offer, panesThatKeep, shownIn, takeLinked } from "./kept.js";
import { askForLink } from "./link-dialog.js";
import { scrollToChange, showText } from "./listings.js";
import { PANES, paneOf, paneOfGroup, steppedAt } from "./panes.js";
import { on, state, tell } from "./state.js";

const FADE = 16; // pixels at the end of a group in which chips fade out
const LEAD = 14; // pixels behind a group's title in which they do
const AHEAD = 2; // steps that are fetched before keys ask for them: one may be on its way while the next key comes
const MODEL = "model"; // begins what stands for another graph; alone it is one to be asked for
const wanted = new Map(); // pane -> address of the text that it shows, or will once it is there

export function startSteps() {
  let linked = takeLinked(); // what the link that was opened compares with
  on("answered", async () => {
    const [asked] = [linked, linked = []];
    for (const [pane, link] of asked) if (await keepLink(pane, link)) compareAgain();
  });
  document.addEventListener("click", (event) => {
    const chip = event.target.closest(".chip, .primitive, #bench [data-prefix]");
    if (chip) choose(chip);
    if (event.target.closest("#llvm-passes")) toggleLlvmPasses();
    const arrow = event.target.closest("[data-step]");
    if (arrow) stepBy(Number(arrow.dataset.step), arrow.dataset.pane);
  });
  document.addEventListener("change", ({ target }) => {
    if (target.matches(".against") && target.value === LINK) {
      compareWithLink(target);
      return;
    }
    if (target.matches(".against") && target.value === MODEL) {
      target.value = state.view[paneOf(target.dataset.pane).against] ?? "";
      compareModel();
      return;
    }
    if (target.matches(".against")) chooseBaseline(target);
    if (target.matches(".step, .against")) showStep(target.dataset.pane);
    if (target.id === "of-graph") {
      state.view.of_graph = Number(target.value);
      forgetSteps("graph");
      tell("options");
    }
    if (target.id === "unit") {
      state.view.unit = Number(target.value);
      forgetSteps("code");
      tell("options");
    }
  });
  on("answered", () => wanted.clear()); // a text that is on its way is of an older answer
  on("answered", mark);
  on("answered", compareAgain);
  on("text", mark);
  on("labelled", mark);
  mark();
}

export function setOption(name, value) {
  if (value === undefined) delete state.options[name];
  else state.options[name] = value;
  tell("options");
}

/** Show what each of LLVM's passes does, or only the text before and after all of them. */
function toggleLlvmPasses() {
  delete state.view.llvm;
  setOption("llvm_passes", state.options.llvm_passes ? undefined : true);
  $("#llvm-passes").setAttribute("aria-pressed", String(Boolean(state.options.llvm_passes)));
}

function choose(chip) {
  if (chip.dataset.prefix !== undefined) {
    choosePrefix(chip.dataset);
    return;
  }
  const pane = paneOfGroup(chip.dataset.group);
  if (!pane.flows || !$("#pane-flow").checkVisibility()) bringForward(pane.name); // a drawing of it shows the step too
  const select = $(`#step-${pane.name}`);
  if (select) {
    select.value = chip.dataset.target;
    showStep(pane.name);
  } else {
    showOnly(pane.name, chip);
  }
}

/** Show the schedule up to a primitive and, where it is a program then, that program. */
function choosePrefix({ prefix, group, target, listing }) {
  const pane = PANES.find(({ also }) => also && also === group);
  if (pane && listing) state.view[pane.name] = target;
  setOption("prefix", Number(prefix) >= lastPrefix() ? undefined : Number(prefix));
}

/** How many primitives the whole schedule has. */
const lastPrefix = () => Math.max(0, ...$$(".primitive").map(({ dataset }) => Number(dataset.prefix)));

/** Let the panes of a level show the last step of another unit. */
function forgetSteps(level) {
  for (const pane of PANES) {
    if (pane.level !== level || !pane.listing) continue;
    delete state.view[pane.name];
    if (pane.against) delete state.view[pane.against];
  }
}

/** The pane that the keys step through: that of the level that is shown. */
const stepped = () => steppedAt($("#right").dataset.level).name;

function nextChanged({ options }, from, direction) {
  let index = from + direction;
  while (options[index]?.dataset.changed === "0") index += direction;
  return index;
}

/** Go to the next pass that changed something. */
export function stepBy(direction, pane = stepped()) {
  const select = $(`#step-${pane}`);
  if (!select) return;
  const index = nextChanged(select, select.selectedIndex, direction);
  if (!select.options[index]) return;
  select.selectedIndex = index;
  heading = { pane, direction };
  showStep(pane);
}

let heading = null; // the pane that keys step through, and the way they go

/** Fetch what the next keys would ask for: the texts, and whoever draws the steps their drawings. */
function fetchNext(pane) {
  const select = $(`#step-${pane}`);
  if (heading?.pane !== pane || baseline(pane) || !select) return;
  const { direction } = heading;
  heading = null;
  let index = select.selectedIndex;
  for (let count = 0; count < AHEAD; count += 1) {
    index = nextChanged(select, index, direction);
    if (!select.options[index]) return;
    fetchAhead(addressOf(pane, select.options[index].dataset, beforeOf(select, index, $(`#against-${pane}`).value)?.dataset));
    tell("ahead", { pane, index });
  }
}

export function toggleDiff() {
  const pane = stepped();
  const against = $(`#against-${pane}`);
  if (!against) return;
  against.value = against.value ? "" : "previous";
  showStep(pane);
}

/** Keep the text of a pane, or note whether it is compared with what it kept. */
function chooseBaseline(select) {
  if (select.value === KEEP) keep(select.dataset.pane);
  else compare(select.dataset.pane, select.value);
}

/** Compare a pane with what the same pane of a link shows. */
async function compareWithLink(select) {
  const { pane } = select.dataset;
  compare(pane, "");
  select.value = "";
  const link = await askForLink();
  if (link && (await keepLink(pane, link))) showStep(pane);
  $(`#against-${pane}`)?.focus();
}

/** Panes that are compared with what they kept show the difference of what an answer brought. */
function compareAgain() {
  for (const pane of panesThatKeep()) {
    offer(pane);
    if (baseline(pane) && $(`#body-${pane}`).dataset.listing) load(pane, shownIn(pane), baseline(pane));
  }
}

function showStep(pane) {
  const select = $(`#step-${pane}`);
  const against = $(`#against-${pane}`).value;
  if (baseline(pane)) {
    load(pane, select ? select.selectedOptions[0].dataset : shownIn(pane), baseline(pane));
    return;
  }
  if (!select) {
    showUnstepped(pane, against);
    return;
  }
  const chosen = select.selectedOptions[0];
  const before = state.view[paneOf(pane).against] ?? "";
  const step = select.selectedIndex === select.options.length - 1 ? "" : chosen.value;
  Object.assign(state.view, { [pane]: step, [paneOf(pane).against]: against });
  if (`${before} ${against}`.includes(`${MODEL}:`)) { // what differs from another graph is found with the answer
    tell("options");
    return;
  }
  load(pane, chosen.dataset, beforeOf(select, select.selectedIndex, against)?.dataset);
  tell("stepping", pane);
}

/** The step that another is compared with: the one before that has another text, or the one that was chosen. */
function beforeOf(select, index, against) {
  const options = [...select.options];
  if (against !== "previous") return options.find((option) => option.value === against);
  const { listing } = options[index].dataset;
  return options.slice(0, index).findLast((option) => option.dataset.listing !== listing) ?? options[index - 1];
}

/** Show a pane whose steps only the timeline offers, alone or beside the step before. */
function showUnstepped(pane, against) {
  const steps = $$(`#strip .chip[data-group="${paneOf(pane).group}"]`);
  const at = steps.findIndex((chip) => chip.dataset.listing === $(`#body-${pane}`).dataset.listing);
  state.view[paneOf(pane).against] = against;
  load(pane, steps[at]?.dataset ?? shownIn(pane), against ? steps[at - 1]?.dataset : undefined);
}

/** Show the step of a pane whose steps only the timeline offers. */
function showOnly(pane, chip) {
  const last = $$(`#strip [data-group="${chip.dataset.group}"]`).at(-1);
  state.view[pane] = chip === last ? "" : chip.dataset.target;
  load(pane, chip.dataset, baseline(pane));
}

async function load(pane, step, before) {
  const address = addressOf(pane, step, before);
  wanted.set(pane, address);
  const text = await fragment(address);
  if (wanted.get(pane) !== address) return; // another one was chosen meanwhile
  if (!text.ok) { // what the server has forgotten comes back with a new answer; without a server, whoever compiles tries again
    if (!text.problem) forget(pane);
    tell("options");
    return;
  }
  showText(pane, text.copy());
  if (before) scrollToChange(pane);
  tell("text", pane);
  await painted();
  fetchNext(pane);
}

function addressOf(pane, { listing, label }, before) {
  const query = new URLSearchParams({ listing, label });
  if (before) Object.entries({ before: before.listing, before_label: before.label }).forEach(([name, value]) => query.set(name, value));
  return `/text/${pane}?${query}`;
}

/** Scroll the group of a chip as far as is needed to see it, and so that another begins at the left. */
function reveal(chip) {
  const group = chip.parentElement;
  const title = $("em", group).offsetWidth + LEAD;
  const starts = $$(".chip", group).map(({ offsetLeft }) => offsetLeft - group.offsetLeft - title);
  const left = chip.offsetLeft - group.offsetLeft;
  const right = left + chip.offsetWidth + FADE - group.clientWidth;
  const hidden = right > group.scrollLeft || left - title < group.scrollLeft;
  if (hidden) group.scrollLeft = Math.min(left - title, starts.find((start) => start >= right) ?? right); // where there is little room, its beginning
}

/** Whether a chip's step is the one that its pane shows. */
function isShown({ dataset }) {
  const pane = paneOfGroup(dataset.group);
  const select = $(`#step-${pane.name}`);
  if (select) return dataset.members.split("|").includes(select.value);
  return pane.listing && dataset.listing !== "" && dataset.listing === $(`#body-${pane.name}`).dataset.listing;
}

/** Scroll to the step of each group that is shown. */
function revealPressed() {
  const primitive = $('#strip [data-prefix][aria-pressed="true"]');
  for (const chip of [primitive, ...$$('#strip :is(.graph, .llvm) [aria-pressed="true"]')]) if (chip) reveal(chip);
}

/** Press the chips of what is shown. */
function mark() {
  const last = lastPrefix();
  const prefix = Math.min(state.options.prefix ?? last, last);
  let pressed = null;
  for (const chip of $$("#strip .chip")) {
    chip.setAttribute("aria-pressed", String(isShown(chip)));
    if (chip.dataset.prefix !== undefined && !pressed && Number(chip.dataset.prefix) >= prefix) pressed = chip;
  }
  pressed?.setAttribute("aria-pressed", "true");
  requestAnimationFrame(revealPressed); // where the page is laid out anyway
  $$(".primitive").forEach((button) => {
    if (Number(button.dataset.prefix) === prefix && !button.matches(".refused")) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  });
}
