// The table of panes and docks, as the server has it; every list of panes in these scripts comes from here.
import { readJson } from "./dom.js";

/**
 * @typedef {object} Pane
 * @property {string} name
 * @property {string} title
 * @property {string} dock name of the dock that it stands in
 * @property {string} copy_of name of the pane that this one is a copy of
 * @property {"" | "graph" | "code"} level level at which it shows; empty for both
 * @property {number} size share of its dock, in proportion to its other panes
 * @property {boolean} open whether it is open until a visitor says otherwise
 * @property {[number, number]} wanted width and height that it needs to be of use, in pixels
 * @property {boolean} flows whether the control flow of its text can be drawn
 * @property {string} option name of the option that its text is made for; empty if it always is
 * @property {boolean} listing whether it shows a listing, in chunks, whose lines link
 * @property {string} unlinked why a line of the listing may link to nothing
 * @property {string} group group of the timeline's steps that it shows
 * @property {boolean} stepped whether its steps can be chosen and compared
 * @property {string} against name under which the view keeps the step compared with
 * @property {boolean} on_demand whether it shows what is made on demand, which stays until it is made again
 * @property {"" | "cpu" | "device"} machine whose code it shows; empty for anything
 * @property {boolean} compiled whether it is stale when a compilation is refused
 *
 * @typedef {object} Dock
 * @property {string} name
 * @property {"" | "graph" | "code"} level
 * @property {"horizontal" | "vertical"} direction
 * @property {number} size share of the column, in proportion to the other docks of its level
 * @property {number} minimum least width or height of a pane, in pixels
 */

const { panes, docks, arrangements, small_groups: smallGroups } = readJson("page-data").table;

/** @type {Pane[]} In the order of keys, tabs and menus. */
export const PANES = panes;
/** @type {Dock[]} */
export const DOCKS = docks;
/** @typedef {{panes: string[], front: string}} Group */
/** @type {Record<string, {title: string, groups: Group[], shares: Record<string, number>}>} By kind of a script, where panes
 * stand until a visitor moves them: groups on large pages, shares of the column on small ones. */
export const ARRANGEMENTS = arrangements;
/** @type {Group[]} Of every arrangement on small pages. */
export const SMALL_GROUPS = smallGroups;
/** @type {string[]} Names of the panes with a listing. */
export const LISTINGS = PANES.filter(({ listing }) => listing).map(({ name }) => name);

/** @returns {Pane | undefined} */
export const paneOf = (name) => PANES.find((pane) => pane.name === name);
/** @returns {Pane | undefined} the pane that shows the steps of a group of the timeline */
export const paneOfGroup = (group) => PANES.find((pane) => pane.group === group);
/** @returns {Pane | undefined} the pane whose steps can be chosen at a level */
export const steppedAt = (level) => PANES.find((pane) => pane.stepped && pane.level === level);
