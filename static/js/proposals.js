// What a loop or a stage of the schedule can take next: asked of the server, written into the script in one step.
import { announce, toast } from "./dom.js";
import { editor } from "./editor.js";
import { post } from "./server.js";
import { state, workspaceJson } from "./state.js";

/**
 * @typedef {{stage: number, loop?: number}} Place a stage of the schedule pane, or one of its loops
 * @typedef {object} Proposal
 * @property {string} primitive
 * @property {string} label
 * @property {Place} [onto] where it is dropped
 * @property {{line: number, removed?: number, text: string}} [edit] how the script says it; none where it is refused
 * @property {string} [refused] why it cannot be applied
 * @property {string} [gain] why it might help
 */

/** @returns {Place} what a handle of the schedule pane stands for */
export const placeOf = ({ dataset }) => ({ stage: Number(dataset.stage), ...(dataset.loop ? { loop: Number(dataset.loop) } : {}) });

/** Ask what can come next.
 * @param {Place} place
 * @param {number} [factor] of a split, which is then the only proposal
 * @returns {Promise<{script: string, proposals: Proposal[], problem: string}>} with the script that they hold for */
export async function propose(place, factor) {
  const script = editor.text;
  if (state.options.prefix !== undefined) return { script, proposals: [], problem: "an earlier step is shown: choose the last primitive first" };
  const subject = { unit: state.view.unit, place, ...(factor ? { factor } : {}) };
  const response = await post("/api/proposals", { ...(await workspaceJson(script)), subject });
  const answer = await response.json().catch(() => ({ error: { message: "the server is not responding" } }));
  if (!response.ok) return { script, proposals: [], problem: answer.error.message };
  return { script, proposals: answer.proposals ?? [], problem: answer.problem ?? "" };
}

/** Refused proposals, those of one primitive for one reason together.
 * @param {Proposal[]} proposals */
export function refusals(proposals) {
  const first = new Map();
  for (const proposal of proposals.filter(({ edit }) => !edit)) {
    const key = `${proposal.primitive} ${proposal.refused}`;
    first.set(key, first.has(key) ? { ...proposal, label: proposal.primitive } : proposal);
  }
  return [...first.values()];
}

/** What an edit writes, and what of the script it stands for. */
export const written = ({ text, instead }) => (instead ? `${text.trim().split("\n").at(-1).trim()} instead of ${instead}` : text.trim());

/** Write a proposal into the script, unless the script has changed since it was asked about.
 * @param {Proposal} proposal
 * @param {string} script */
export function apply(proposal, script) {
  if (!proposal.edit) {
    toast(`Cannot ${proposal.label}: ${proposal.refused}`);
  } else if (script !== editor.text) {
    toast("The script has changed in the meantime; try again");
  } else {
    editor.replaceLines(proposal.edit);
    announce(`Wrote ${written(proposal.edit)}`);
  }
}
