// Measures every prefix of the schedule, or each kernel, and draws what comes as it comes.
import { $, readJson, toast } from "./dom.js";
import { editor } from "./editor.js";
import { pack, told, unpack } from "./ladder-link.js";
import { uncover } from "./layout.js";
import { recall, remember } from "./memory.js";
import { closeForm, forgetPredictions, predictions, togglePredicting } from "./predict.js";
import { AWAY, ask, busyWords, drawn, follow, post, unreached } from "./server.js";
import { keepInLinks, on, state, tell, workspaceJson } from "./state.js";

let running = null; // {id, isLadder, source, clock}
let shown = null; // what the chart was drawn from
let slid = null; // what is drawn while a number of the script slides
let past = []; // what was measured of this script before
let isToggling = false; // until the server has answered
let reference = null; // {measurements, date}: an earlier ladder that is drawn under this one

export const ladder = {
  get shown() { return shown !== null && !shown.stored; },
  /** Let the measurements of a run take the ladder's place. */
  forget() {
    if (running) return;
    setAside();
    shown = null;
  },
  /** Draw other measurements over those that were made, or these alone again. */
  slide(measurements) {
    if (slid !== measurements) draw(slid = measurements);
  },
  /** Draw what another page measures. */
  mirror(measured) {
    shown = measured;
    buttons(shown.running);
    draw();
  },
  get isFresh() { return this.shown && !running && !$("#pane-bench").matches(".stale"); },
  get chart() { return shown; },
  get measurements() { return shown?.stored ? undefined : shown?.measurements; },
};

export function startLadder() {
  $("#ladder-button").addEventListener("click", toggleLadder);
  document.addEventListener("click", ({ target }) => { if (target.id === "ladder-stop") stop(); });
  document.addEventListener("click", ({ target }) => { if (target.id === "measure-kernels" && !running) start("/api/measure"); });
  document.addEventListener("change", ({ target }) => {
    if (target.id !== "scale") return;
    remember("scale", target.value);
    if (shown) draw();
  });
  document.addEventListener("click", ({ target }) => {
    if (target.id === "ladder-keep") keep();
    if (target.id === "ladder-predict" && !running) togglePredicting(toggleLadder);
  });
  openKept();
  keepInLinks(() => ({ ...pack("ladder", ladder.shown ? shown : null), ...pack("reference", reference) }));
  on("unmeasured", () => { if (!running && !isToggling && $("#strip .group.loops, #strip .group.schedule")) start("/api/measure"); });
  on("answered", ({ measurements }) => {
    if ((measurements.length && !shown) || !$("#bench table")) $("#pane-bench").classList.remove("stale");
    labelSteps();
  });
  on("replaced", () => { ladder.forget(); past = []; });
  on("away", () => { if (shown) draw(); }); // in the room that there is again
  on("edited", forgetPredictions);
  on("edited", () => { if ($("#bench table") && !(state.sliding && ladder.isFresh)) $("#pane-bench").classList.add("stale"); });
}

/** Show the ladders that a link holds. */
function openKept() {
  const kept = unpack("ladder", state.view);
  reference = unpack("reference", state.view);
  const stored = $("#stored-ladder") && readJson("stored-ladder");
  if (!kept && stored) {
    shown = { ...stored, failures: [], reasons: [], done: 0, total: 0, label: "", running: false, stored: true, kept: `Measured ${told(stored)} when this example was written. Ladder measures it on this machine.` };
    draw();
  }
  if (!kept) return;
  shown = { ...kept, failures: [], reasons: [], done: 0, total: 0, label: "", running: false, kept: `Kept in the link: measured ${told(kept)}.` };
  draw();
}

/** Draw somebody's ladder under this one, or alone where there is none yet; null draws none any more.
 * @param {{measurements: object[], date: string, name: string} | null} ghost */
export function compareWith(ghost) {
  reference = ghost;
  if (ghost) shown ??= { ...ghost, failures: [], reasons: [], done: 0, total: 0, label: "", running: false, stored: true, kept: `The ladder of ${ghost.name}, measured ${told(ghost)}.` };
  if (shown) draw();
}

/** Draw the next ladder over this one, or no longer. */
function keep() {
  reference = reference || !shown ? null : { measurements: shown.measurements, date: shown.date };
  toast(reference ? "Kept: the next ladder is drawn over this one" : "The kept ladder is no longer drawn");
  if (shown) draw();
}

/** Start a ladder, in place of what is measured behind a run, or stop it; pressed again before the server has answered, it does nothing. */
export async function toggleLadder() {
  if (isToggling) return;
  isToggling = true;
  if (!running?.isLadder) uncover("bench");
  await (running?.isLadder ? stop() : replace("/api/ladders")).finally(() => { isToggling = false; });
}

/** Measure a workspace, and show it as it comes; what was under way is stopped.
 * @param {string} address of the kind of measurement
 * @param {object} workspace as the JSON API wants it
 * @returns {Promise<string | null>} the measurement's id once it has ended, or null where there is none */
export async function measure(address, workspace) {
  const id = await replace(address, workspace);
  if (!id) return null;
  return new Promise((resolve) => { running.ended = (status) => resolve(status === "ok" ? id : null); });
}

async function replace(address, workspace) {
  if (running) {
    running.isReplaced = true;
    await stop();
  }
  return start(address, workspace);
}

async function start(address, workspace) {
  const response = await post(address, workspace ?? (await workspaceJson(editor.text)));
  const answer = await response.json();
  if (!response.ok) {
    toast(answer.error.message);
    return null;
  }
  if (running) end({ status: "replaced" });
  setAside();
  shown = { before: past, measurements: [], failures: [], reasons: [], done: 0, total: 0, label: "waiting for its turn", running: true, date: new Date().toISOString() };
  closeForm();
  $("#pane-bench").classList.remove("stale");
  const isLadder = address === "/api/ladders";
  buttons(true, isLadder);
  const source = follow(answer.events, {
    queued({ place }) { shown.label = busyWords(place); },
    progress({ done, total, label }) { Object.assign(shown, { done, total, label: `${done} of ${total} · ${label}`, began: Date.now() }); },
    source({ source, reason }) { if (source === "script") shown.reasons.push(reason); },
    measured({ measurement }) {
      // What all are compared with is measured again at the end.
      const before = ["numpy", "peak"].includes(measurement.kind) ? shown.measurements.findIndex(({ kind }) => kind === measurement.kind) : -1;
      if (before < 0) shown.measurements.push(measurement);
      else shown.measurements[before] = measurement;
      // The steps of a large schedule come last first.
      shown.measurements.sort((a, b) => (a.step ?? -1) - (b.step ?? -1));
    },
    failed({ label, problem }) { shown.failures.push(`${label}: ${problem.message}`); },
    ended: end,
  }, draw, (isAway) => { running.isAway = isAway; tick(); });
  running = { id: answer.id, isLadder, source, clock: setInterval(tick, 1000) };
  draw();
  return answer.id;
}

/** Keep what was measured on this page, to be told beside what is measured next: the newest of each kernel and step. */
function setAside() {
  if (!shown || shown.stored) return;
  const all = [...past, ...shown.measurements];
  past = [...new Map(all.map((each) => [`${each.kind} ${each.step} ${each.name}`, each])).values()].slice(-60);
}

/** A rung may take seconds: count them. */
function tick() {
  const seconds = Math.round((Date.now() - shown.began) / 1000);
  const box = $("#bench .progress-line span");
  if (box && running.isAway) box.textContent = AWAY;
  else if (box && seconds > 1) box.textContent = `${shown.label} · ${seconds} s`;
}

function end({ status, message }) {
  running?.source.close();
  clearInterval(running?.clock);
  running?.ended?.(status);
  const isReplaced = running?.isReplaced;
  running = null;
  shown.running = false;
  buttons(false);
  if (status === "error" && !shown.failures.length) shown.failures.push(message);
  if (status === "stopped" && !isReplaced) toast("The ladder was stopped");
}

async function stop() {
  const { id } = running;
  const answer = await ask(`/api/ladders/${id}`, { method: "DELETE" });
  if (unreached(answer)) toast((await answer.json()).error.message);
}

function buttons(active, isLadder = active) {
  $("#ladder-button").textContent = isLadder ? "Stop" : "Ladder";
  $("#ladder-button").setAttribute("aria-pressed", String(isLadder));
  $("#ladder-stop").hidden = !active;
  $("#measure-kernels").hidden = active;
  document.body.classList.toggle("measuring", active);
}

let drawing = false;
let again = false;

/** Draw the newest state; one request at a time. */
async function draw() {
  if (drawing) {
    again = true;
    return;
  }
  drawing = true;
  try {
    await redraw();
  } finally {
    drawing = false;
  }
}

async function redraw() {
  do {
    again = false;
    tell("charted", shown);
    labelSteps();
    $("#scale").hidden = false;
    $("#scale").value = shown.scale = recall("scale") ?? "auto";
    $("#ladder-keep").hidden = shown.running || shown.stored || !shown.measurements.some(({ kind }) => kind === "prefix");
    $("#ladder-keep").textContent = reference ? "Stop comparing" : "Keep to compare";
    const compared = slid ? { measurements: slid, reference: shown.measurements, reference_label: "as measured" } : { reference: reference?.measurements ?? [], reference_label: reference ? `${reference.name ? `of ${reference.name}, ` : ""}${told(reference)}` : "", predictions: predictions() };
    shown.room = Math.max(340, $("#bench").clientWidth - 28);
    if (!await drawn("/chart", "#bench", "#pane-bench", { ...shown, ...compared, began: undefined, date: undefined, stored: undefined, name: undefined })) again = true;
  } while (again);
}

/** Once measured, the strip tells what each step of the schedule reached. */
function labelSteps() {
  if (!ladder.shown || $("#pane-bench").classList.contains("stale")) return;
  for (const { step, gflops, estimated } of shown.measurements) {
    const chip = gflops && $(`#strip .chip[data-prefix="${step}"] small`);
    if (chip) chip.textContent = `${estimated ? "≈ " : ""}${Number(gflops.toPrecision(3))} GFLOP/s`;
  }
  tell("labelled");
}
