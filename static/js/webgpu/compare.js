// Compares what the GPU computed with what the server says it should.
import { bytesOf, reader, unpacked } from "./inputs.js";

/** @typedef {{ok: boolean, error: number, wrong: number, compared: number, sampled: boolean, first: string}} Check */

/** Compare the results of a program.
 * @param {object[]} results what the server sent
 * @param {(argument: number) => ArrayBuffer} computed bytes of an argument
 * @returns {Check} */
export function compare(results, computed) {
  const check = { ok: true, error: 0, wrong: 0, compared: 0, sampled: false, first: "" };
  for (const result of results) one(result, computed(result.argument), check);
  check.ok = check.wrong === 0;
  return check;
}

function one(result, buffer, check) {
  const { dtype, indices, tolerance, scale } = result;
  const values = unpacked(result.values);
  const count = values.byteLength / bytesOf(dtype, 1);
  const places = indices ? new Uint32Array(unpacked(indices)) : null;
  const [actual, expected] = [reader(dtype, buffer), reader(dtype, values)];
  const allowed = tolerance * Math.max(scale, 1e-30);
  for (let i = 0; i < count; i += 1) {
    const place = places ? places[i] : i;
    const [a, e] = [actual(place), expected(i)];
    if (a === e || (Number.isNaN(a) && Number.isNaN(e))) continue;
    const difference = Math.abs(a - e);
    if (!(difference <= check.error)) check.error = Number.isNaN(difference) ? Infinity : difference;
    if (difference <= allowed) continue;
    check.first ||= `element ${place} is ${a}, expected ${e}`;
    check.wrong += 1;
  }
  check.compared += count;
  check.sampled ||= Boolean(places);
}
