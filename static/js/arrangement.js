// Where panes stand: boxes within boxes, each a row or a column of panes and further boxes, or a group of panes that share
// a cell.  Pure: no document in here.

/**
 * @typedef {object} Box
 * @property {string} name
 * @property {"horizontal" | "vertical" | "tabs"} direction
 * @property {(Box | string)[]} parts boxes, and names of panes; of a group panes alone
 * @property {number[]} sizes of the parts, in proportion to each other
 * @property {string} [front] of a group the pane that shows, where it is open
 */
/** @typedef {"left" | "right" | "top" | "bottom"} Side */

const MAX_DEPTH = 12;
const MAX_CHARACTERS = 10_000;
const NEW = "box-"; // boxes that visitors made are called so, and end with their last part but one
export const SIDES = {
  left: { direction: "horizontal", after: 0 }, right: { direction: "horizontal", after: 1 },
  top: { direction: "vertical", after: 0 }, bottom: { direction: "vertical", after: 1 },
};

const isPane = (part) => typeof part === "string";
const copy = (box) => ({ ...box, sizes: [...box.sizes], parts: box.parts.map((part) => (isPane(part) ? part : copy(part))) });

/** All boxes, the outermost first.
 * @param {Box} box
 * @returns {Box[]} */
export const boxesOf = (box) => [box, ...box.parts.filter((part) => !isPane(part)).flatMap(boxesOf)];

/** @returns {string[]} the panes in a box and in the boxes inside of it */
export const panesIn = (box) => box.parts.flatMap((part) => (isPane(part) ? [part] : panesIn(part)));

/** The box that a pane, or the box of a name, is directly in, and its place there. */
function placeOf(root, name) {
  for (const box of boxesOf(root)) {
    const index = box.parts.findIndex((part) => (isPane(part) ? part : part.name) === name);
    if (index >= 0) return { box, index };
  }
  return null;
}

/** The group of a pane that shares its cell.
 * @returns {Box | undefined} */
export const groupOf = (root, pane) => boxesOf(root).find(({ direction, parts }) => direction === "tabs" && parts.includes(pane));

/** The row or column that a pane, alone or in a group, is a cell of, and its place there.
 * @returns {{box: Box, index: number}} */
export const cellOf = (root, pane) => placeOf(root, groupOf(root, pane)?.name ?? pane);

/** Take a pane out; boxes that visitors made go with their last part but one. */
function remove(root, pane) {
  const { box, index } = placeOf(root, pane);
  box.parts.splice(index, 1);
  box.sizes.splice(index, 1);
  if (box.front === pane) box.front = box.parts[Math.max(0, index - 1)];
  tidy(root);
}

function tidy(box) {
  box.parts.forEach((part, index) => {
    if (isPane(part)) return;
    tidy(part);
    if (part.name.startsWith(NEW) && part.parts.length === 1) [box.parts[index]] = part.parts;
  });
}

function insert(box, index, part, size) {
  box.parts.splice(index, 0, part);
  box.sizes.splice(index, 0, size);
}

function newName(root) {
  const taken = new Set(boxesOf(root).map(({ name }) => name));
  let number = 1;
  while (taken.has(`${NEW}${number}`)) number += 1;
  return `${NEW}${number}`;
}

/** The arrangement with a pane beside another, whose room they share.
 * @param {Box} root
 * @param {string} pane
 * @param {string} target a pane
 * @param {Side} side of the target
 * @returns {Box} */
export function beside(root, pane, target, side) {
  if (pane === target) return root;
  const made = copy(root);
  remove(made, pane);
  const { box, index } = cellOf(made, target);
  const { direction, after } = SIDES[side];
  if (box.direction === direction) {
    const half = box.sizes[index] / 2;
    box.sizes[index] = half;
    insert(box, index + after, pane, half);
  } else {
    const cell = box.parts[index];
    const parts = after ? [cell, pane] : [pane, cell];
    box.parts[index] = { name: newName(made), direction, parts, sizes: [50, 50] };
  }
  return made;
}

/** The arrangement with a pane as a tab after another, in whose cell it shows.
 * @returns {Box} */
export function stacked(root, pane, target) {
  if (pane === target) return root;
  const made = copy(root);
  remove(made, pane);
  const { box, index } = placeOf(made, target);
  if (box.direction === "tabs") {
    insert(box, index + 1, pane, 1);
    box.front = pane;
  } else {
    box.parts[index] = { name: newName(made), direction: "tabs", parts: [target, pane], sizes: [1, 1], front: pane };
  }
  return made;
}

/** The arrangement with a pane along a side of the page.
 * @param {Box} root
 * @param {string} pane
 * @param {Side} side
 * @returns {Box} */
export function along(root, pane, side) {
  const made = copy(root);
  remove(made, pane);
  const { direction, after } = SIDES[side];
  if (made.direction !== direction) {
    const { parts, sizes } = made;
    Object.assign(made, { parts: [{ name: newName(made), direction: made.direction, parts, sizes }], sizes: [75], direction });
  }
  const room = made.sizes.reduce((sum, size) => sum + size, 0);
  insert(made, after ? made.parts.length : 0, pane, room / 3);
  return made;
}

/** The arrangement with two panes in each other's places.
 * @returns {Box} */
export function swapped(root, pane, target) {
  const made = copy(root);
  const [one, other] = [placeOf(made, pane), placeOf(made, target)];
  one.box.parts[one.index] = target;
  other.box.parts[other.index] = pane;
  if (one.box.front) one.box.front = target;
  if (other.box.front) other.box.front = pane;
  return made;
}

/** Whether two panes stand in one row or one column.
 * @param {"horizontal" | "vertical"} direction */
export function neighbours(root, pane, target, direction) {
  const { box } = cellOf(root, pane);
  return box === cellOf(root, target).box && box.direction === direction;
}

const DIRECTIONS = { h: "horizontal", v: "vertical", t: "tabs" };

/** An arrangement as text: of each box its name, direction, sizes and parts, and of a group its front. */
export function write(root) {
  const row = ({ name, direction, sizes, parts, front }) => [name, direction[0], sizes.map((size) => Math.round(size * 100) / 100), parts.map((part) => (isPane(part) ? part : row(part))), ...(front ? [front] : [])];
  return JSON.stringify(row(root));
}

/** Read an arrangement, which is untrusted; panes that it does not know stand where they do by default.
 * @param {string} text
 * @param {Box} usual the default one
 * @returns {Box | null} null where it is none */
export function read(text, usual) {
  if (text.length > MAX_CHARACTERS) return null;
  let root;
  try {
    root = box(JSON.parse(text), new Set(panesIn(usual)), new Set(), 0);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return null; // no JSON, or none of ours
    throw error;
  }
  const names = boxesOf(root).map(({ name }) => name);
  const complete = boxesOf(usual).every(({ name }) => names.includes(name)) && new Set(names).size === names.length && root.name === usual.name;
  return complete ? withMissing(root, usual) : null;
}

function box([name, direction, sizes, parts, front], offered, seen, depth) {
  if (depth > MAX_DEPTH || !/^[a-z][a-z0-9-]{0,30}$/.test(name) || !(direction in DIRECTIONS)) throw new TypeError("no box");
  const made = { name, direction: DIRECTIONS[direction], parts: [], sizes: [] };
  if (direction === "t" && !parts.every(isPane)) throw new TypeError("no group");
  parts.forEach((part, index) => {
    if (isPane(part) && (!offered.has(part) || seen.has(part))) return;
    if (isPane(part)) seen.add(part);
    insert(made, made.parts.length, isPane(part) ? part : box(part, offered, seen, depth + 1), sizes[index] > 0 ? Number(sizes[index]) : 1);
  });
  if (direction === "t" && made.parts.includes(front)) made.front = front; // an exported page lacks some panes
  return made;
}

function withMissing(root, usual) {
  const there = new Set(panesIn(root));
  for (const pane of panesIn(usual).filter((name) => !there.has(name))) {
    const { box: home, index } = placeOf(usual, pane);
    const target = boxesOf(root).find(({ name }) => name === home.name);
    insert(target, target.parts.length, pane, home.sizes[index]);
  }
  tidy(root);
  return root;
}
