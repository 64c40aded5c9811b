// The values that a number of the script is tried at: pure functions.
const MOST = 24; // stops of a slider
const LARGEST = 2 ** 31 - 1;
const AROUND = 16; // times larger and smaller that a number without an extent becomes

/** The stops of a number, in increasing order, as texts.
 * @param {string} text of the number as it stands in the script
 * @param {number[]} extents of the loops that it splits
 * @returns {string[]} none where the text is no number; that of the script is among them */
export function stopsOf(text, extents = []) {
  const value = Number(text.replaceAll("_", ""));
  if (!text || !Number.isFinite(value)) return [];
  const isWhole = /^(?:0[xob]|[\d_]+$)/i.test(text);
  const found = new Set((isWhole ? whole(value, extents) : fractions(value)).filter((stop) => stop !== value));
  const nearest = [...found].sort((a, b) => distance(a, value) - distance(b, value)).slice(0, MOST - 1);
  return [...nearest, value].sort((a, b) => a - b).map((stop) => (stop === value ? text : written(stop, isWhole)));
}

/** Divisors of the extents, powers of two and the number's neighbours. */
function whole(value, extents) {
  const largest = Math.min(LARGEST, Math.max(value, ...(extents.length ? extents : [value * AROUND, 4])));
  const least = extents.length ? 1 : Math.max(0, Math.min(Math.floor(value / AROUND), value - 1));
  const stops = [value - 1, value + 1, ...extents.flatMap(divisors)];
  for (let power = 1; power <= largest; power *= 2) stops.push(power);
  if (!extents.length) for (const part of [2, 4, 8]) stops.push(value * part, ...(value % part ? [] : [value / part]));
  return stops.filter((stop) => stop >= least && stop <= Math.max(largest, value + 1));
}

/** Those of an extent that a loop may have: a link of a stranger may tell any. */
function divisors(extent) {
  const found = [];
  for (let factor = 1; extent <= LARGEST && factor * factor <= extent; factor += 1) if (extent % factor === 0) found.push(factor, extent / factor);
  return found;
}

const fractions = (value) => (value ? [-3, -2, -1, 1, 2, 3].map((power) => value * 2 ** power) : [0.5, 1, 2]);

const distance = (stop, value) => Math.abs(Math.log2((stop + 1) / (value + 1)));

function written(stop, isWhole) {
  const text = String(Number(stop.toPrecision(6)));
  return isWhole ? String(stop) : /[.e]/.test(text) ? text : `${text}.0`;
}
