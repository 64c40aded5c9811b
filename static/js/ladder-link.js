// A ladder as a link keeps it: a few short texts, one for each measurement, with the machine and the date.

const NAMES = { ladder: "rung", reference: "kept" }; // prefix of the texts of each
const MAX_TEXT = 1900; // characters that a link takes as one value, and a little room
const MAX_RUNGS = 60;
const FIELDS = ["name", "kind", "seconds", "spread", "repeats", "number", "threads", "flops", "gflops", "traffic", "checked", "error", "cpu", "target", "note", "step", "host", "estimated", "disturbed"];
const OLD_FIELDS = 16; // a link that was made before machines had names

/** The texts of a ladder, by name.
 * @param {keyof typeof NAMES} which
 * @param {{measurements: object[], date: string} | null} ladder */
export function pack(which, ladder) {
  if (!ladder?.measurements.length) return {};
  const rungs = ladder.measurements.filter(({ kind }) => kind !== "kernel").slice(0, MAX_RUNGS);
  const texts = rungs.map((rung) => JSON.stringify(FIELDS.map((field) => shortened(rung[field]))));
  const entries = texts.filter((text) => text.length <= MAX_TEXT).map((text, at) => [`${NAMES[which]}${at}`, text]);
  return entries.length ? { ...Object.fromEntries(entries), [`${NAMES[which]}s`]: ladder.date } : {};
}

const shortened = (value) => (typeof value === "string" ? value.slice(0, 400) : value ?? null);

/** Take a ladder out of the view that a link holds; what is not one is left out.
 * @returns {{measurements: object[], date: string} | null} */
export function unpack(which, view) {
  const date = view[`${NAMES[which]}s`];
  const measurements = [];
  for (let at = 0; at < MAX_RUNGS && typeof view[`${NAMES[which]}${at}`] === "string"; at += 1) {
    const rung = read(view[`${NAMES[which]}${at}`]);
    if (rung) measurements.push(rung);
    delete view[`${NAMES[which]}${at}`];
  }
  delete view[`${NAMES[which]}s`];
  return measurements.length && typeof date === "string" ? { measurements, date: date.slice(0, 40) } : null;
}

function read(text) {
  let values;
  try {
    values = JSON.parse(text);
  } catch {
    return null; // whoever made the link wrote something else
  }
  if (!Array.isArray(values) || values.length < OLD_FIELDS || values.length > FIELDS.length) return null;
  const rung = Object.fromEntries(values.map((value, at) => [FIELDS[at], value]));
  return { ...rung, source: "link" };
}

/** Where and when a ladder was measured, in words. */
export function told({ measurements, date }) {
  const { cpu = "an unknown machine", host = "" } = measurements.find((rung) => rung.cpu) ?? {};
  return `${date.replace("T", " ").slice(0, 16)} UTC on ${host ? `${host} (${cpu})` : cpu}`;
}
