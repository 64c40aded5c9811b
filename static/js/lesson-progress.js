// How far this browser has come with a lesson.
import { recall, remember } from "./memory.js";

/** @typedef {{step: number, done: number[], scripts: Record<number, string>}} Progress the step that is read, from 1 on,
 * those that passed, and the script that each was left with */

/** The progress of a lesson; what is not understood counts as none.
 * @param {string} lesson
 * @returns {Progress} */
export function readProgress(lesson) {
  try {
    const { step, done, scripts } = JSON.parse(recall(`lesson.${lesson}`));
    if (Number.isInteger(step) && Array.isArray(done) && typeof scripts === "object") return { step, done, scripts };
  } catch {
    // nothing, or something else
  }
  return { step: 1, done: [], scripts: {} };
}

/** @param {string} lesson
 * @param {Progress} progress */
export const keepProgress = (lesson, progress) => remember(`lesson.${lesson}`, JSON.stringify(progress));
