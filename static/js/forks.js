// Kernels of a model that the visitor schedules himself: one opens as a script, and goes back into the model as a file
// beside the model's script, so that links have it. While it is open, the model's script is such a file.
import { $, readJson, toast } from "./dom.js";
import { run } from "./compile.js";
import { editor } from "./editor.js";
import { attach, detach } from "./files.js";
import { keepInLinks, on, state, tell } from "./state.js";

const ORIGINAL = "original.py"; // what an edited kernel is raced with
const MODEL = ".model.py"; // after a kernel's name: the script of the model that it is open from
const OWN = ".kernel.py"; // after a kernel's name: what it is in the model
const MAX_CHARACTERS = 300;

let taken = false; // whether a kernel was opened that there is no answer to yet
let race = null; // {numbers, date} of the last race of the model with its kernels, or what a link says of one

export function startForks() {
  race = unpack();
  document.addEventListener("click", ({ target }) => {
    const { openKernel, dropKernel } = target.dataset;
    if (openKernel) open(openKernel);
    if (dropKernel) {
      dropKernels(dropKernel);
      tell("options");
    }
  });
  $("#fork-put").addEventListener("click", put);
  $("#fork-leave").addEventListener("click", leave);
  keepInLinks(() => (race ? { race: `${race.date} ${race.numbers.join(" ")}` } : {}));
  on("edited", () => { race = null; });
  on("model", () => detach(...[...state.files.keys()].filter((name) => name === ORIGINAL || name.endsWith(MODEL) || name.endsWith(OWN))));
  on("answered", arrived);
  arrived();
}

async function open(name) {
  const own = state.files.get(`${name}${OWN}`);
  const original = readJson("kernel-scripts")[name];
  takeKernel(name, own ? await own.text() : original, original);
}

/** Take a script of a kernel into the editor, beside what it was before: edits race that. Undo brings the model's back. */
export async function takeKernel(name, script, original) {
  const before = opened(), isKernel = before && (taken || !$("#strip .group.graph"));
  const model = isKernel ? await state.files.get(`${before}${MODEL}`).text() : editor.text;
  taken = true;
  delete state.options.kernel;
  if (before) detach(`${before}${MODEL}`);
  attach(ORIGINAL, original || script);
  attach(`${name}${MODEL}`, model);
  editor.open(script);
  toast(`Edit the schedule: Run measures it in alternation with ${ORIGINAL}`);
}

const opened = () => [...state.files.keys()].find((name) => name.endsWith(MODEL))?.slice(0, -MODEL.length);

/** Let the model have the kernel that is in the editor, and run it with it and without it. */
async function put() {
  const name = opened();
  attach(`${name}${OWN}`, editor.text);
  await leave();
  run();
}

async function leave() {
  const model = await state.files.get(`${opened()}${MODEL}`).text();
  close();
  editor.open(model);
}

function close() {
  detach(ORIGINAL, `${opened()}${MODEL}`);
  $("#fork").hidden = true;
}

/** Close the kernel if Undo has brought the model's script back. */
async function closeIfLeft() {
  const model = await state.files.get(`${opened()}${MODEL}`)?.text();
  if (editor.text === model) close();
}

/** Leave kernels out of the visitor's own; a race that was run, or came with a link, was of other kernels. */
export function dropKernels(...names) {
  race = null;
  detach(...names.map((name) => `${name}${OWN}`));
}

function arrived() {
  taken = false;
  const name = opened();
  $("#fork").hidden = !name;
  $("#fork-name").textContent = name ?? "";
  if (name) closeIfLeft();
  const box = $("#race");
  if (!box) return;
  if (box.dataset.race) race = { numbers: box.dataset.race.split(" ").map(Number), date: new Date().toISOString() };
  else if (race) box.textContent = told(race);
}

/** A race that a link holds, in words; whoever made the link may have written anything. */
function told({ numbers: [seconds, original, low, ratio, high, rounds], date }) {
  const when = `${date.replace("T", " ").slice(0, 16)} UTC`;
  if (!rounds) return `Measured ${when}: the model’s outputs differed from those without these kernels.`;
  const quartiles = `${low.toFixed(2)} to ${high.toFixed(2)}`;
  const faster = low <= 1 && high >= 1
    ? `no difference beyond the noise (${quartiles}× as fast in ${rounds} rounds)`
    : `${ratio.toFixed(2)}× as fast (${quartiles} in ${rounds} rounds)`;
  return `Measured ${when}: ${time(original)} before, ${time(seconds)} with these kernels: ${faster}. Run measures it here.`;
}

const time = (seconds) => (seconds < 1e-3 ? `${Number((seconds * 1e6).toPrecision(3))} µs` : `${Number((seconds * 1e3).toPrecision(3))} ms`);

function unpack() {
  const text = state.view.race;
  delete state.view.race;
  const [date, ...numbers] = typeof text === "string" && text.length < MAX_CHARACTERS ? text.split(" ") : [];
  const sound = numbers.length === 6 && numbers.every((number) => Number(number) >= 0) && !Number.isNaN(Date.parse(date));
  return sound ? { date, numbers: numbers.map(Number) } : null;
}
