// The best time of this browser for each challenge, as the server measured it.
import { recall, remember } from "../memory.js";

/** @param {string} challenge
 * @returns {{seconds: number, words: string} | null} */
export function readBest(challenge) {
  try {
    const { seconds, words } = JSON.parse(recall(`challenge.${challenge}`));
    return Number.isFinite(seconds) && typeof words === "string" ? { seconds, words } : null;
  } catch {
    return null; // nothing, or something else
  }
}

/** Keep a time that is better than the one before. */
export function keepBest(challenge, { seconds, words }) {
  const before = readBest(challenge);
  if (!before || seconds < before.seconds) remember(`challenge.${challenge}`, JSON.stringify({ seconds, words }));
}
