// Scheduling by hand: a loop is dragged to another place or onto its neighbour, a stage into a loop of another.
// The handles open menus as well, which do the same by keyboard, and more.
import { $, $$ } from "./dom.js";
import { openMenu } from "./proposal-menu.js";
import { apply, placeOf, propose } from "./proposals.js";

const THRESHOLD = 5; // pixels that a press moves before it is a drag
let drag = null; // {handle, from, at, asked, answer, moving, proposal}

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
    document.body.classList.add("scheduling");
    drag.handle.closest("p, .stage-head").classList.add("dragged");
    showTargets();
  }
  drag.at = event;
  aim(event);
}

/** Show which loops take what is dragged. */
function showTargets() {
  for (const proposal of drag.answer?.proposals ?? []) {
    const row = rowAt(proposal.onto);
    if (row) row.classList.add(proposal.edit ? "takes" : "refuses");
  }
}

const rowAt = (place) => place && $(`#pane-schedule .grip[data-stage="${place.stage}"][data-loop="${place.loop}"]`)?.closest("p");

/** Say what dropping here would do, or why it cannot be done. */
function aim(event) {
  const row = document.elementFromPoint(event.clientX, event.clientY)?.closest("#pane-schedule p[data-origins]");
  const proposal = drag.proposal = row ? proposalFor(row, event.clientY) : null;
  for (const other of $$("#pane-schedule .aimed")) other.classList.remove("aimed", "between");
  const tip = $("#drop-tip");
  const text = drag.answer?.problem || (proposal ? told(proposal) : drag.answer ? "" : "Trying what it can take …");
  tip.hidden = !text;
  tip.textContent = text;
  tip.classList.toggle("refusal", Boolean(drag.answer?.problem || proposal?.refused));
  tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8)}px`;
  if (proposal) row.classList.add("aimed", ...(proposal.primitive === "reorder" ? ["between"] : []));
}

const told = ({ label, refused, gain, edit }) => (refused ? `Cannot ${label}: ${refused}` : `${edit.text.trim()}${gain ? ` (${gain})` : ""}`);

/** The proposal of a drop: onto the middle of a neighbour fuses, elsewhere the loop takes its place. */
function proposalFor(row, y) {
  const { stage, loop } = placeOf($(".grip", row));
  const here = (drag.answer?.proposals ?? []).filter(({ onto }) => onto?.stage === stage && onto.loop === loop);
  const box = row.getBoundingClientRect();
  const inMiddle = Math.abs(y - box.top - box.height / 2) < box.height / 4;
  return here.find(({ primitive }) => (primitive === "fuse") === inMiddle) ?? here[0] ?? null;
}

function drop() {
  const { handle, asked, answer, moving, proposal } = drag ?? {};
  end();
  if (!handle) return;
  if (!moving) openMenu(handle, asked);
  else if (proposal) apply(proposal, answer.script);
}

function end() {
  drag = null;
  $("#drop-tip").hidden = true;
  document.body.classList.remove("scheduling");
  for (const row of $$("#pane-schedule :is(.dragged, .takes, .refuses, .aimed)")) row.classList.remove("dragged", "takes", "refuses", "aimed", "between");
}
