// The shelf beside the schedule while something is dragged: what it can become where it stands, such as two loops or
// the threads of a GPU, is a place to drop it on, as the loops are for what moves it.
import { $, element } from "./dom.js";
import { refusals } from "./proposals.js";

const GAP = 6; // pixels between the shelf and what is beside it
const OTHER_FACTOR = { primitive: "split", label: "split by …", asks: "Split it by a factor of your own" };
let offered = []; // the proposals of its places

/** Show a place for each proposal that no loop stands for.
 * @param {import("./proposals.js").Proposal[]} proposals
 * @param {boolean} isLoop whether a loop is dragged, which can be split by any factor
 * @param {number} y where the pointer is */
export function openShelf(proposals, isLoop, y) {
  const here = [...proposals.filter(({ onto }) => !onto), ...(isLoop && proposals.length ? [OTHER_FACTOR] : [])];
  offered = [...here.filter(({ edit, asks }) => edit || asks), ...refusals(here.filter(({ asks }) => !asks))];
  const shelf = $("#drop-shelf");
  const primitives = new Set(here.map(({ primitive }) => primitive));
  shelf.replaceChildren(...[...primitives].map((name) => row(name, offered.filter(({ primitive }) => primitive === name))));
  shelf.hidden = !offered.length;
  stand(shelf, y);
}

/** The places of a primitive: what their labels begin with is said once. */
function row(name, group) {
  const labels = group.map(({ label }) => label).filter((label) => label !== name);
  const words = (labels[0] ?? "").split(" ");
  const differs = words.findIndex((_, at) => !labels.every((label) => label.startsWith(`${words.slice(0, at + 1).join(" ")} `)));
  const shared = labels.length > 1 && differs > 0 ? `${words.slice(0, differs).join(" ")} ` : "";
  const places = group.map((proposal) => element(
    "span", { class: `place ${proposal.refused ? "refuses" : "takes"}${proposal.gain ? " pays" : ""}`, "data-place": offered.indexOf(proposal) },
    proposal.label.startsWith(shared) ? proposal.label.slice(shared.length) : proposal.label,
  ));
  return element("p", {}, shared, ...places);
}

/** Beside the pane, where the loops stay in sight; over its right end if there is no room. */
function stand(shelf, y) {
  const pane = $("#pane-schedule").getBoundingClientRect();
  const left = pane.left - shelf.offsetWidth - GAP;
  shelf.style.left = `${left >= GAP ? left : Math.max(GAP, pane.right - shelf.offsetWidth - GAP)}px`;
  shelf.style.top = `${Math.max(GAP, Math.min(y - shelf.offsetHeight / 2, innerHeight - shelf.offsetHeight - GAP))}px`;
}

/** The place that something is dropped on, with its proposal. */
export function placeOn(under) {
  const place = under?.closest("#drop-shelf .place");
  return place ? { aimed: place, proposal: offered[Number(place.dataset.place)] } : null;
}

/** Where what is said of a place stands: over the shelf, or under it, so that no other place is hidden. */
export function besideShelf(place, tip) {
  const shelf = place?.closest("#drop-shelf")?.getBoundingClientRect();
  if (!shelf) return null;
  const above = shelf.top - tip.offsetHeight - GAP;
  return { x: shelf.left, y: above >= GAP ? above : shelf.bottom + GAP };
}

export function closeShelf() {
  $("#drop-shelf").hidden = true;
  offered = [];
}
