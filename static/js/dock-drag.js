// Panes are moved by dragging their heads, or by Alt, Shift and an arrow: beside another pane, along a side of the page,
// or, dropped on the middle of another, into its place; dropped on its head, or by a key, they become a tab of its cell.
import { SIDES, along, beside, groupOf, neighbours, stacked, swapped } from "./arrangement.js";
import { current, rearrange } from "./docking.js";
import { $, $$, announce, narrow } from "./dom.js";
import { titleOf } from "./pane-tabs.js";
import { paneOf } from "./panes.js";

const SLOP = 6; // pixels that the pointer moves before a press is a drag
const BORDER = 4; // pixels of a head along the sides of the page that do not belong to it
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
  const head = event.target.closest(".pane-head, [data-front]");
  const control = event.target.closest("button, select, input, a, label");
  if (!head || event.button !== 0 || event.pointerType === "touch" || (control && !control.matches(".heading, [data-front]"))) return;
  if (narrow.matches || $("#panes").classList.contains("enlarged")) return;
  const drag = new Drag(head.dataset.front ?? head.closest(".pane").dataset.pane, event);
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
  const head = sideAt(page, x, y, BORDER / page.width, BORDER / page.height) ? null : headAt(x, y);
  if (head) return head.pane === pane ? null : { arrangement: stacked(current(), pane, head.pane), words: `${title(pane)} in one place with ${title(head.pane)}`, room: head.room };
  const side = sideAt(page, x, y, EDGE / page.width, EDGE / page.height);
  if (side) return { arrangement: along(current(), pane, side), words: `${title(pane)} along ${EDGES[side]}`, room: half(page, side, 0.25) };
  const target = visible().find((other) => contains(other.getBoundingClientRect(), x, y))?.dataset.pane;
  if (!target || target === pane) return null;
  const room = $(`#pane-${target}`).getBoundingClientRect();
  const near = sideAt(room, x, y, MIDDLE, MIDDLE);
  if (!near) return { arrangement: swapped(current(), pane, target), words: `${title(pane)} and ${title(target)} have changed places`, room };
  return { arrangement: beside(current(), pane, target, near), words: `${title(pane)} ${WORDS[near]} ${title(target)}`, room: half(room, near, 0.5) };
}

/** The head at a point: of a tab, of the tabs of a cell, or of a pane. */
function headAt(x, y) {
  const heads = [["[role='tab']", ({ dataset }) => dataset.front], [".pane-tabs", (bar) => $("[aria-selected='true']", bar).dataset.front], [".pane-head", (head) => head.closest(".pane").dataset.pane]];
  for (const [selector, paneOfHead] of heads) {
    const head = $$(selector, $("#panes")).find((node) => node.checkVisibility() && contains(node.getBoundingClientRect(), x, y));
    if (head) return { pane: paneOfHead(head), room: head.getBoundingClientRect() };
  }
  return null;
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
  const pane = focusedPane();
  if (!pane || narrow.matches || $("#panes").classList.contains("enlarged")) return;
  apply(towards(pane, side));
  (focused.checkVisibility() ? focused : titleOf(pane)).focus();
}

/** Make the pane that has the focus a tab of the one beside it; one that is a tab gets a cell of its own. */
export function stackFocused() {
  const pane = focusedPane();
  if (!pane || narrow.matches || $("#panes").classList.contains("enlarged")) return;
  const other = companion(pane);
  const target = other ?? ["right", "left", "bottom", "top"].map((side) => neighbour(pane, side)).find(Boolean);
  if (!target) return;
  if (other) apply({ arrangement: beside(current(), pane, other, "right"), words: `${title(pane)} ${WORDS.right} ${title(other)}` });
  else apply({ arrangement: stacked(current(), pane, target), words: `${title(pane)} in one place with ${title(target)}` });
  titleOf(pane).focus();
}

const focusedPane = () => document.activeElement.dataset.front ?? document.activeElement.closest(".pane")?.dataset.pane;

/** Another pane of the group that a pane is in. */
const companion = (pane) => groupOf(current(), pane)?.parts.find((other) => other !== pane && !$(`#pane-${other}`).classList.contains("closed"));

function towards(pane, side) {
  const other = companion(pane);
  if (other) return { arrangement: beside(current(), pane, other, side), words: `${title(pane)} ${WORDS[side]} ${title(other)}` };
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
