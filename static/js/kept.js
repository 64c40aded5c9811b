// Texts that were kept to be compared with: of another prefix, pass, target or level, whatever is compiled since.
import { $, element, toast } from "./dom.js";
import { editor } from "./editor.js";
import { LISTINGS, paneOf } from "./panes.js";
import { ask } from "./server.js";
import { keepInLinks, linkedView, state, workspaceJson } from "./state.js";

const kept = new Map(); // pane -> {listing, label, link, state}: of a link, or of a state that becomes one when it is shared
const compared = new Set(); // panes that show the difference from what they kept
const LINKED = "compared."; // and a pane: what links call the link that it is compared with

export const KEEP = "keep";
export const KEPT = "kept";
export const LINK = "link";

/** Keep what a pane of a link shows, to compare with; every pane that the link has a text for gets its own.
 * @param {string} pane
 * @param {string} link an id or an address
 * @returns {Promise<boolean>} whether there is something to compare this pane with */
export async function keepLink(pane, link) {
  const id = /^[\w-]+$/.exec(link.trim().replace(/[?#].*$/, "").replace(/\/+$/, "").replace(/^.*\//, ""))?.[0];
  const answer = id && (await ask(`/api/links/${id}/texts`, { method: "POST" }));
  if (!answer?.ok) {
    toast(answer?.status === 404 ? `There is no link ${id}` : "This link cannot be compared with right now");
    return false;
  }
  const { texts } = await answer.json();
  for (const [name, { listing, label, drawing }] of Object.entries(texts)) {
    kept.set(name, { listing, drawing, link: id, label: [`/z/${id}`, label].filter(Boolean).join(" · ") });
    offer(name);
  }
  if (!texts[pane]) {
    toast(`The link /z/${id} has no ${paneOf(pane).title}`);
    return false;
  }
  compared.add(pane);
  offer(pane);
  return true;
}

/** The links that a link says its panes are compared with, by pane.
 * @returns {[string, string][]} */
export function takeLinked() {
  const linked = Object.entries(state.view).filter(([name, id]) => name.startsWith(LINKED) && typeof id === "string");
  for (const [name] of linked) delete state.view[name];
  return linked.map(([name, id]) => [name.slice(LINKED.length), id]).filter(([pane]) => LISTINGS.includes(pane));
}

/** Make links of what was kept and is compared with, so that the link to this state can name them. */
export async function linkKept() {
  for (const pane of compared) {
    const text = kept.get(pane);
    if (!text || text.link) continue;
    const answer = await ask("/api/links", { method: "POST", headers: { "Content-Type": "application/json" }, body: await text.state });
    if (answer.ok) text.link = (await answer.json()).id;
  }
}

/** Keep what a pane shows. */
export function keep(pane) {
  const view = linkedView();
  kept.set(pane, { ...shownIn(pane), drawing: pane === "graph" ? $("#graph")?.dataset.key : "", state: workspaceJson(editor.text).then((workspace) => JSON.stringify({ workspace, view })) });
  compared.add(pane);
  offer(pane);
  toast(`Kept: ${kept.get(pane).label}. This pane now shows the differences from it.`);
}

/** What a pane kept, where it is compared with that. */
export const baseline = (pane) => (compared.has(pane) ? kept.get(pane) : undefined);

/** Note whether a pane is compared with what it kept. */
export function compare(pane, value) {
  if (value === KEPT) compared.add(pane);
  else compared.delete(pane);
}

/** The server does not have the text any more. */
export function forget(pane) {
  if (!kept.delete(pane)) return false;
  compared.delete(pane);
  toast("The text that was kept has expired");
  return true;
}

/** List what was kept among the choices of a pane; an answer draws them anew. */
export function offer(pane) {
  const text = kept.get(pane);
  const select = $(`#against-${pane}`);
  if (!text || !select) return;
  $(`option[value="${KEPT}"]`, select)?.remove();
  select.append(element("option", { value: KEPT }, `± kept: ${text.label}`));
  if (compared.has(pane)) select.value = KEPT;
}

export const panesThatKeep = () => [...kept.keys()];

/** What a pane shows, in words: how far the schedule goes, for which machine, after which pass. */
export function describe(pane) {
  const prefix = $('#strip .schedule .chip[aria-pressed="true"]');
  const machine = $(`#pane-${pane} .machine`)?.selectedOptions[0].text;
  const level = state.options.opt_level ?? 3;
  const words = [
    level !== 3 && `O${level}`, // first: there it is seen in a title that has little room
    prefix && (state.options.prefix === undefined ? "whole schedule" : `up to ${prefix.dataset.label}`),
    machine,
    stepOf(pane)?.label,
  ];
  return words.filter(Boolean).join(" · ") || paneOf(pane).title;
}

keepInLinks(() => Object.fromEntries([...compared].filter((pane) => kept.get(pane)?.link).map((pane) => [LINKED + pane, kept.get(pane).link])));

/** The listing that a pane shows, in words. */
export const shownIn = (pane) => ({ listing: $(`#body-${pane}`).dataset.listing, label: describe(pane) });

/** The button or choice of the step that a pane shows. */
function stepOf(pane) {
  const chosen = $(`#step-${pane}`)?.selectedOptions[0] ?? $(`#strip .chip[data-group="${paneOf(pane).group}"][aria-pressed="true"]`);
  return chosen?.dataset;
}
