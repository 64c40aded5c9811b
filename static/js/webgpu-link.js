// What a link keeps of a run on a visitor's GPU: nobody can check it, so that it is read as untrusted input.

const MAX_ROWS = 60;
const MAX_TEXT = 1900; // characters that a link takes as one value, and a little room
const MAX_CHARACTERS = 300; // of a name or a message
const MAX_NUMBER = 1e15; // no time, rate or count that was measured is larger, or smaller than its inverse unless it is 0
const ROW = { step: "number", label: "string", seconds: "number", spread: "number", repeats: "number", number: "number", gflops: "number", };
const HEAD = { name: "string", adapter: "string", clock: "string", date: "string" };

/** The texts of a run, by name.
 * @param {{rows: object[]} | null} shown */
export function pack(shown) {
  const rows = (shown?.rows ?? []).filter(({ seconds }) => seconds).slice(0, MAX_ROWS);
  if (!rows.length) return {};
  const texts = rows.map((row, at) => [`gpu${at}`, packed(ROW, row)]).filter(([, text]) => text.length <= MAX_TEXT);
  return { gpu: packed(HEAD, shown), ...Object.fromEntries(texts) };
}

const packed = (types, from) => JSON.stringify(Object.keys(types).map((name) => (typeof from[name] === "string" ? from[name].slice(0, MAX_CHARACTERS) : from[name] ?? null)));

/** Take a run out of the view that a link holds; what is not one is left out.
 * @returns {{rows: object[], name: string, adapter: string, clock: string, date: string} | null} */
export function unpack(view) {
  const head = typeof view.gpu === "string" ? unpacked(HEAD, view.gpu) : null;
  delete view.gpu;
  const rows = [];
  for (let at = 0; at < MAX_ROWS; at += 1) {
    const text = view[`gpu${at}`];
    delete view[`gpu${at}`];
    const row = typeof text === "string" ? unpacked(ROW, text) : null;
    if (row && row.seconds > 0) rows.push(row);
  }
  return head && rows.length ? { ...head, rows } : null;
}

function unpacked(types, text) {
  let values;
  try {
    values = JSON.parse(text);
  } catch {
    return null; // whoever made the link wrote something else
  }
  const names = Object.keys(types);
  if (!Array.isArray(values) || values.length !== names.length) return null;
  const read = Object.fromEntries(names.map((name, at) => [name, checked(types[name], values[at])]));
  return Object.values(read).includes(undefined) ? null : read;
}

/** A value if it is of its type, null if there is none, else undefined. */
function checked(type, value) {
  if (value === null) return type === "string" ? "" : 0;
  if (typeof value !== type) return undefined;
  if (type === "string") return value.slice(0, MAX_CHARACTERS);
  return value === 0 || (value >= 1 / MAX_NUMBER && value <= MAX_NUMBER) ? value : undefined;
}
