// Panes are moved by dragging their heads, or by Alt, Shift and an arrow: beside another pane, along a side of the page,
// or, dropped on the middle of another, into its place.
import { SIDES, along, beside, neighbours, swapped } from "./arrangement.js";
import { current, rearrange } from "./docking.js";
import { $, $$, announce, narrow } from "./dom.js";
import { paneOf } from "./panes.js";

const SLOP = 6; // pixels that the pointer moves before a press is a drag
const EDGE = 18; // pixels along the sides of the page that take a pane for a row or column of its own
const MIDDLE = 0.3; // of a pane's width and height on each side of its middle
const ARROWS = { ArrowLeft: "left", ArrowRight: "right", ArrowUp: "top", ArrowDown: "bottom" };
const WORDS = { left: "to the left of", right: "to the right of", top: "above", bottom: "below" };
const EDGES = { left: "the left side", right: "the right side", top: "the top", bottom: "the bottom" };

export function startDocking() {
  $("#panes").addEventListener("pointerdown", press);
}

const visible = () => $$("#panes .pane").filter((pane) => pane.getClientRects().length);
const title = (pane) => paneOf(pane).title;

// By the pointer

function press(event) {
  const head = event.target.closest(".pane-head");
  const control = event.target.closest("button, select, input, a, label");
  if (!head || event.button !== 0 || event.pointerType === "touch" || (control && !control.matches(".heading"))) return;
  if (narrow.matches || $("#panes").classList.contains("enlarged")) return;
  const drag = new Drag(head.closest(".pane").dataset.pane, event);
  drag.follow();
}

class Drag {
  constructor(pane, { clientX, clientY, pointerId }) {
    Object.assign(this, { pane, from: { clientX, clientY }, pointerId, moving: false, drop: null });
    this.ended = new AbortController();
  }

  follow() {
    const { signal } = this.ended;
    addEventListener("pointermove", (event) => this.move(event), { signal });
    addEventListener("pointerup", () => this.end(true), { signal });
    addEventListener("pointercancel", () => this.end(false), { signal });
    addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.end(false);
    }, { signal, capture: true });
  }

  move({ clientX, clientY }) {
    if (!this.moving && Math.hypot(clientX - this.from.clientX, clientY - this.from.clientY) < SLOP) return;
    this.moving = true;
    document.body.classList.add("docking");
    getSelection().removeAllRanges();
    this.drop = dropAt(this.pane, clientX, clientY);
    preview(this.drop?.room);
  }

  end(dropped) {
    this.ended.abort();
    document.body.classList.remove("docking");
    preview(null);
    if (!this.moving) return;
    // The click that ends a drag is none on the title.
    addEventListener("click", (event) => event.stopPropagation(), { capture: true, once: true, signal: AbortSignal.timeout(50) });
    if (dropped && this.drop) apply(this.drop);
  }
}

/** What a drop at a point does, and the room that it would give.
 * @returns {{arrangement: object, words: string, room: DOMRect} | null} */
function dropAt(pane, x, y) {
  const page = $("#panes").getBoundingClientRect();
  const side = sideAt(page, x, y, EDGE / page.width, EDGE / page.height);
  if (side) return { arrangement: along(current(), pane, side), words: `${title(pane)} along ${EDGES[side]}`, room: half(page, side, 0.25) };
  const target = visible().find((other) => contains(other.getBoundingClientRect(), x, y))?.dataset.pane;
  if (!target || target === pane) return null;
  const room = $(`#pane-${target}`).getBoundingClientRect();
  const near = sideAt(room, x, y, MIDDLE, MIDDLE);
  if (!near) return { arrangement: swapped(current(), pane, target), words: `${title(pane)} and ${title(target)} have changed places`, room };
  return { arrangement: beside(current(), pane, target, near), words: `${title(pane)} ${WORDS[near]} ${title(target)}`, room: half(room, near, 0.5) };
}

const contains = ({ left, right, top, bottom }, x, y) => x >= left && x < right && y >= top && y < bottom;

/** The side of a box that a point is near, by shares of its width and height; empty in its middle. */
function sideAt({ left, top, width, height }, x, y, across, down) {
  const distances = { left: (x - left) / width / across, right: (left + width - x) / width / across, top: (y - top) / height / down, bottom: (top + height - y) / height / down };
  const [side, distance] = Object.entries(distances).reduce((best, entry) => (entry[1] < best[1] ? entry : best));
  return distance < 1 ? side : "";
}

function half({ left, top, width, height }, side, share) {
  const { direction, after } = SIDES[side];
  const rest = 1 - share;
  return direction === "horizontal"
    ? new DOMRect(left + after * rest * width, top, width * share, height)
    : new DOMRect(left, top + after * rest * height, width, height * share);
}

function preview(room) {
  const box = $("#dock-preview");
  box.hidden = !room;
  if (room) for (const name of ["left", "top", "width", "height"]) box.style[name] = `${room[name]}px`;
}

function apply({ arrangement, words }) {
  rearrange(arrangement);
  announce(words);
}

// By the keyboard

/** The side that keys would move a pane to, if they do.
 * @param {KeyboardEvent} event
 * @returns {"left" | "right" | "top" | "bottom" | undefined} */
export const sideOf = (event) => (event.altKey && event.shiftKey ? ARROWS[event.key] : undefined);

/** Move the pane that has the focus past its neighbour, into the row or column beside it, or to the side of the page. */
export function moveFocused(side) {
  const focused = document.activeElement;
  const pane = focused.closest(".pane")?.dataset.pane;
  if (!pane || narrow.matches || $("#panes").classList.contains("enlarged")) return;
  apply(towards(pane, side));
  focused.focus();
}

function towards(pane, side) {
  const target = neighbour(pane, side);
  if (!target) return { arrangement: along(current(), pane, side), words: `${title(pane)} along ${EDGES[side]}` };
  const { direction, after } = SIDES[side];
  const far = neighbours(current(), pane, target, direction);
  const landing = far ? side : Object.keys(SIDES).find((other) => SIDES[other].direction === direction && SIDES[other].after !== after);
  return { arrangement: beside(current(), pane, target, landing), words: `${title(pane)} ${WORDS[landing]} ${title(target)}` };
}

/** The nearest pane on a side. */
function neighbour(pane, side) {
  const mine = $(`#pane-${pane}`).getBoundingClientRect();
  const sideways = SIDES[side].direction === "horizontal";
  const gap = (box) => ({ left: mine.left - box.right, right: box.left - mine.right, top: mine.top - box.bottom, bottom: box.top - mine.bottom })[side];
  const shared = (box) => (sideways ? Math.min(mine.bottom, box.bottom) - Math.max(mine.top, box.top) : Math.min(mine.right, box.right) - Math.max(mine.left, box.left));
  const candidates = visible().filter((other) => other.dataset.pane !== pane).map((other) => ({ name: other.dataset.pane, box: other.getBoundingClientRect() }));
  const beyond = candidates.filter(({ box }) => gap(box) > -2 && shared(box) > 2);
  return beyond.sort((a, b) => gap(a.box) - gap(b.box) || shared(b.box) - shared(a.box))[0]?.name;
}
