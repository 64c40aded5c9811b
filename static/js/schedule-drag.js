// Scheduling by hand: a loop is dragged to another place, onto its neighbour, or onto the shelf, which says what else it
// can become; a stage into a loop of another.  The handles open menus as well, which do the same by keyboard, and more.
import { $, $$, toast } from "./dom.js";
import { besideShelf, closeShelf, openShelf, placeOn } from "./drop-shelf.js";
import { openMenu } from "./proposal-menu.js";
import { apply, placeOf, propose } from "./proposals.js";

const THRESHOLD = 5; // pixels that a press moves before it is a drag
const EDGE = 24; // pixels from the end of the pane, where holding still scrolls it
const SCROLL = 6; // pixels that it scrolls in a frame
let drag = null; // {handle, from, at, asked, answer, moving, proposal}
let queued = null; // what was dropped before it was known what can be dropped where

export function startScheduling() {
  const pane = $("#pane-schedule");
  pane.addEventListener("pointerdown", press);
  pane.addEventListener("pointermove", move);
  pane.addEventListener("pointerup", drop);
  pane.addEventListener("pointercancel", end);
  pane.addEventListener("click", ({ target, detail }) => {
    const handle = target.closest(".grip");
    if (handle && detail === 0) openMenu(handle); // by keyboard; a pointer opens it when it is lifted
  });
  pane.addEventListener("contextmenu", (event) => {
    const handle = event.target.closest("p[data-origins], .stage-head")?.querySelector(".grip");
    if (!handle) return;
    event.preventDefault();
    openMenu(handle);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !drag?.moving) return;
    event.stopPropagation();
    end();
  }, true);
}

function press(event) {
  const handle = event.target.closest(".grip");
  if (!handle || event.button !== 0) return;
  event.preventDefault();
  queued = null;
  handle.setPointerCapture(event.pointerId);
  drag = { handle, from: event, at: event, asked: propose(placeOf(handle)), answer: null, moving: false, proposal: null };
  const mine = drag;
  drag.asked.then((answer) => {
    mine.answer = answer;
    if (mine !== drag || !mine.moving) return;
    showTargets();
    aim(mine.at);
  });
}

function move(event) {
  if (!drag) return;
  if (!drag.moving) {
    if (Math.hypot(event.clientX - drag.from.clientX, event.clientY - drag.from.clientY) < THRESHOLD) return;
    drag.moving = true;
    $("#toast").hidden = true; // what was said of the last drop may cover the places of this one
    document.body.classList.add("scheduling");
    drag.handle.closest("p, .stage-head").classList.add("dragged");
    showTargets();
    requestAnimationFrame(scrollOn);
  }
  drag.at = event;
  aim(event);
}

/** Show which loops take what is dragged, and what it can become where it is. */
function showTargets() {
  if (!drag.answer) return;
  for (const proposal of drag.answer.proposals) {
    const row = rowAt(proposal.onto);
    if (row) row.classList.add(proposal.edit ? "takes" : "refuses");
  }
  openShelf(drag.answer.proposals, Boolean(drag.handle.dataset.loop), drag.at.clientY);
}

const rowAt = (place) => place && $(`#pane-schedule .grip[data-stage="${place.stage}"][data-loop="${place.loop}"]`)?.closest("p");

/** Scroll the schedule while the pointer is at its end: the loop that is meant may be out of sight. */
function scrollOn() {
  if (!drag?.moving) return;
  const nest = $("#pane-schedule .nest");
  const { left, right, top, bottom } = nest.getBoundingClientRect();
  const { clientX: x, clientY: y } = drag.at;
  const before = nest.scrollTop;
  if (x > left && x < right) nest.scrollTop += SCROLL * ((y > bottom - EDGE) - (y < top + EDGE));
  if (nest.scrollTop !== before) aim(drag.at);
  requestAnimationFrame(scrollOn);
}

/** Say what dropping here would do, or why it cannot be done. */
function aim(event) {
  const { aimed, proposal } = targetAt(event, drag.answer);
  drag.proposal = proposal;
  for (const other of $$(".aimed")) other.classList.remove("aimed", "between");
  const tip = $("#drop-tip");
  const text = drag.answer?.problem || (proposal ? told(proposal) : drag.answer ? "" : "Trying what can be applied …");
  tip.hidden = !text;
  tip.textContent = text;
  tip.classList.toggle("refusal", Boolean(drag.answer?.problem || proposal?.refused));
  const { x, y } = besideShelf(aimed, tip) ?? { x: event.clientX + 14, y: event.clientY + 16 };
  tip.style.left = `${Math.max(8, Math.min(x, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${Math.min(y, innerHeight - tip.offsetHeight - 8)}px`;
  if (proposal) aimed.classList.add("aimed", ...(proposal.primitive === "reorder" ? ["between"] : []));
}

function told({ label, refused, gain, edit, asks }) {
  if (asks) return asks;
  return refused ? `Cannot ${label}: ${refused}` : `${edit.text.trim()}${gain ? ` (${gain})` : ""}`;
}

/** What is under the pointer, with the proposal of a drop there. */
function targetAt({ clientX, clientY }, answer) {
  const under = document.elementFromPoint(clientX, clientY);
  const row = under?.closest("#pane-schedule p[data-origins]");
  return placeOn(under) ?? { aimed: row, proposal: row ? proposalFor(spotOn(row, clientY), answer?.proposals ?? []) : null };
}

/** Where on a loop something is dropped: {stage, loop, inMiddle}. */
function spotOn(row, y) {
  const box = row.getBoundingClientRect();
  return { ...placeOf($(".grip", row)), inMiddle: Math.abs(y - box.top - box.height / 2) < box.height / 4 };
}

/** The proposal of a drop on a loop: onto the middle of a neighbour fuses, elsewhere the loop takes its place. */
function proposalFor({ stage, loop, inMiddle }, proposals) {
  const here = proposals.filter(({ onto }) => onto?.stage === stage && onto.loop === loop);
  return here.find(({ primitive }) => (primitive === "fuse") === inMiddle) ?? here[0] ?? null;
}

function drop() {
  if (!drag) return;
  const { handle, at, asked, answer, moving, proposal } = drag;
  const { aimed } = targetAt(at, answer);
  const row = handle.closest("p[data-origins]");
  end();
  if (!moving) openMenu(handle, asked);
  else if (!answer && aimed && aimed !== row) dropLater(aimed, spotOn(aimed, at.clientY), asked);
  else if (proposal?.asks) openMenu(handle, asked, "input");
  else if (proposal) apply(proposal, answer.script);
}

/** Do what a quick hand dropped before it was known what can be dropped where; until then, say that it waits. */
async function dropLater(row, spot, asked) {
  const mine = queued = {};
  const tip = $("#drop-tip");
  tip.textContent = "Dropped here once it is known what can be applied …";
  tip.classList.remove("refusal");
  tip.hidden = false;
  row.classList.add("aimed");
  const { script, proposals, problem } = await asked;
  row.classList.remove("aimed");
  if (mine !== queued) return;
  queued = null;
  tip.hidden = true;
  const proposal = proposalFor(spot, proposals);
  if (problem || !proposal) toast(problem || "Nothing can be dropped there");
  else apply(proposal, script);
}

function end() {
  drag = null;
  closeShelf();
  $("#drop-tip").hidden = true;
  document.body.classList.remove("scheduling");
  for (const row of $$("#pane-schedule :is(.dragged, .takes, .refuses, .aimed)")) row.classList.remove("dragged", "takes", "refuses", "aimed", "between");
}
