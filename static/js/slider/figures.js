// What the hot loop of the assembly consists of, in figures and in words.
import { counted } from "../dom.js";
import { askPatiently } from "../server.js";

/** Ask for the figures of a listing.
 * @param {string | undefined} key of the listing
 * @param {string} assembly key of the machine that it is for
 * @param {AbortSignal} [signal] of one who may want it no longer
 * @returns {Promise<object | null>} {instructions, vector_bits, spills, work, unit, cycles, processor, reason}, or null
 *   where it was given up */
export async function figuresOf(key, assembly, signal) {
  if (!key) return { instructions: 0, reason: "no assembly was made" };
  const answer = await askPatiently(`/hot-loop/${key}?${new URLSearchParams({ assembly })}`, { signal }).catch(() => null); // fails only so
  if (!answer) return null;
  const figures = await answer.json().catch(() => null);
  return answer.ok && figures ? figures : { instructions: 0, reason: figures?.error?.message ?? "the server is not responding" };
}

const short = (number) => Number(number.toPrecision(3)).toLocaleString("en-US");

/** Figures in words, with those of another value where they differ.
 * @param {object} figures with `problem` where the value is refused
 * @param {object | null} [before] */
export function told({ problem, instructions, reason, ...rest }, before = null) {
  if (problem) return problem.message.split("\n")[0];
  if (!instructions) return reason ? `No figures of the hot loop: ${reason}` : "Nothing loops in the code.";
  const figures = { instructions, ...rest };
  const was = (words) => (before?.instructions && words(before) !== words(figures) ? ` (was ${words(before)})` : "");
  const facts = [
    ({ instructions: count }) => counted(count, "instruction"),
    ({ vector_bits: bits }) => (bits ? `${bits}-bit vectors` : "scalars"),
    ({ spills }) => counted(spills, "spill"),
    ({ cycles }) => (cycles ? `${short(cycles)} cycles` : ""),
    ({ cycles, work, unit }) => (cycles && work ? `${short(work / cycles)} ${unit} a cycle` : ""),
  ];
  const words = facts.map((fact) => fact(figures) && fact(figures) + was(fact)).filter(Boolean);
  return `Hot loop: ${words.join(" · ")}${reason ? ` · no cycles: ${reason}` : ""}`;
}
