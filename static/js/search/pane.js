// Searches for a faster schedule, and draws what comes as it comes; or what a log beside the script says.
import { $, element, toast } from "../dom.js";
import { keepHere, keepWorkspace, readHere } from "../draft.js";
import { editor } from "../editor.js";
import { attach, detach } from "../files.js";
import { dropKernels, takeKernel } from "../forks.js";
import { focusPane } from "../layout.js";
import { showKernel } from "../levels.js";
import { recall, remember } from "../memory.js";
import { ask, busyWords, drawn, follow, post, unreached } from "../server.js";
import { encode, on, state, tell, workspaceJson } from "../state.js";
import { LOG, MOST_TRIALS, fitting, isDecision, isForeign, parse, read } from "./log.js";
import { keepWishes, readWishes } from "./wishes.js";

const MOST_KERNELS = 10;
const MOST_LISTED = 100; // of a log, as of app/searches.py
const ORIGINAL = "original.py"; // what a kernel is raced with

let running = null; // {id}, or empty until the server has answered
let leaving = false; // whether the page ends, and with it what it listens to
let ticking = 0;
let shown = null; // what was drawn
let lines = []; // of the log
let picked = false; // whether the visitor chose the kernel whose candidates are shown
let opened = null; // the file that was read
let derived = {}; // the candidate whose texts came last, and what was asked for them
const wishesOf = (kernel) => readWishes().get(kernel) ?? { pinned: [], banned: [] };
const hasModel = () => !$("#search-what").hidden;
const wished = () => (hasModel() && shown.model ? shown.kernel : "");

const fresh = () => ({ model: null, kernel: "", trials: [], measurements: [], refused: [], default_seconds: null, failures: [], found: null, doing: "", script: undefined, ofModel: undefined, label: "", running: false, kept: "", chosen: null, only: [] });

const pane = $("#pane-search");
const modelWords = { total: null, others: {}, ways: {}, type: "model" };

function begin() {
  $("#search-start").addEventListener("click", () => (running ? stop() : start()));
  $("#search-save").addEventListener("click", save);
  $("#search-drop").addEventListener("click", forget);
  $("#search-axis").value = recall("search-axis") ?? "trials";
  $("#search-axis").addEventListener("change", ({ target }) => { remember("search-axis", target.value); draw(); });
  pane.addEventListener("click", clicked);
  pane.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.id === "search-candidate") show(Number(event.target.value) - 1);
  });
  on("options", openLog);
  on("answered", offer);
  on("edited", () => { if (shown) pane.classList.add("stale"); });
  addEventListener("beforeunload", () => { leaving = true; });
  let width = pane.clientWidth;
  new ResizeObserver(() => {
    if (width !== pane.clientWidth) draw(); // in the room that there is now
    width = pane.clientWidth;
  }).observe(pane);
  offer();
  openLog().then(() => {
    if (!shown && readWishes().size) shown = fresh();
    draw();
    goOn();
  });
}

/** Draw what there is. */
export const open = () => draw();

/** Search the hottest kernels of the script's model, unless a search goes on. */
export function searchModel() {
  focusPane("search");
  if (running) return;
  $("#search-what").value = "model";
  start();
}

/** A script that has a model can have its kernels searched. */
function offer() {
  const what = $("#search-what"), without = !$("#strip .group.graph");
  if (what.hidden === without) return;
  what.hidden = without;
  what.value = without ? "function" : "model";
}

/** Show the log that lies beside the script, unless it is what this page wrote. */
async function openLog() {
  const file = state.files.get(LOG);
  if (file === opened) return;
  if (opened && !file && !running) clear();
  opened = file;
  if (running && file) toast("A search goes on, and its log takes the place of this one: drop it again when it has ended");
  if (running || !file) return;
  lines = (await file.text()).split("\n").filter(Boolean).slice(-MOST_TRIALS);
  shown = { ...fresh(), ...logged() };
  const strange = lines.length - shown.trials.length - decisions().length;
  const origin = shown.trials.some(isForeign) ? "Translated from a log of TVM’s: what was measured elsewhere, not now. Search does not go on from it." : "From the log beside the script: what others or an earlier search wrote, not measured now. Search goes on from it.";
  shown.kept = shown.trials.length ? `${origin}${strange ? ` Left out: ${strange} of ${lines.length} lines, which are no records.` : ""}` : `${LOG} ${lines.length ? "has no line that is a record of a search" : "is empty"}.`;
  draw();
}

/** The candidates of the log, and if they are of several kernels, what it says of each. */
function logged() {
  const trials = lines.map(read).filter(Boolean);
  const kernels = new Map();
  for (const { workload, choices, seconds } of trials) {
    if (!kernels.has(workload) && kernels.size === MOST_LISTED) continue;
    const kernel = kernels.get(workload) ?? { name: isForeign({ workload }) ? workload : `kernel ${workload.slice(0, 8)}`, workload, trials: 0 };
    kernels.set(workload, kernel);
    if (choices) kernel.trials += 1;
    if (choices && seconds && !(seconds >= kernel.best)) kernel.best = seconds;
  }
  const ways = {};
  let decided = false;
  for (const { workload, choices, message } of decisions()) {
    decided = true;
    const kernel = kernels.get(workload);
    if (kernel) Object.assign(kernel, { kept: Boolean(choices), name: String(message || kernel.name).slice(0, 1000) });
    else if (choices?.[0]?.[0] === "way") ways[String(workload).replace(/ llvm.*/, "").slice(0, 1000)] = String(choices[0][1]).slice(0, 200);
  }
  const model = decided || kernels.size > 1 || hasModel() || trials.some(isForeign) ? { ...modelWords, kernels: [...kernels.values()], ways } : null;
  return { trials, model, kernel: (model && (hasModel() ? model.kernels[0] : trials.findLast(({ workload }) => kernels.has(workload)))?.workload) ?? "" };
}

const decisions = () => lines.filter(isDecision).map(parse);

/** The candidates that are drawn: of a model, those of one kernel. */
const visible = () => (shown.kernel ? shown.trials.filter(({ workload }) => workload === shown.kernel) : shown.trials);

async function start() {
  running = {};
  const workspace = await workspaceJson(editor.text);
  const model = $("#search-what").value === "model";
  if (!workspace.files[LOG]) lines = [];
  lines = lines.filter((line) => read(line) || isDecision(line));
  if (lines.length) workspace.files[LOG] = await encode(new Blob([`${lines.join("\n")}\n`]));
  const wanted = model ? { model, kernels: Object.fromEntries([...readWishes()].filter(([kernel]) => kernel).slice(0, MOST_KERNELS)) } : wishesOf("");
  const search = { seconds: Number($("#search-seconds").value), ...wanted };
  const response = await post("/api/searches", { ...workspace, search });
  const { error, id, events } = await response.json();
  if (!response.ok) {
    running = null;
    toast(error.message);
    return;
  }
  const begun = { id, events, model, seconds: search.seconds, script: workspace.script };
  keepHere("search", JSON.stringify(begun));
  attend(begun, pane.classList.contains("stale"));
}

/** Listen again to the search that goes on while the page is reloaded. */
function goOn() {
  const begun = readHere("search");
  if (begun && !running) attend(JSON.parse(begun), false);
}

/** Draw what a search tells, from its beginning. */
function attend({ id, events, model, seconds: most, script }, isAnother) {
  const trials = lines.map(read).filter(Boolean);
  picked = false;
  shown = { ...fresh(), script, ofModel: model, trials, kernel: model || !trials.length ? "" : isAnother ? "none yet" : trials.at(-1).workload, running: true, label: "waiting for its turn" };
  pane.classList.remove("stale");
  buttons(true);
  follow(events, {
    queued({ place }) { shown.label = busyWords(place); },
    progress({ done, total, label }) { shown.label = shown.doing = model ? label : `what there is: ${done} of ${total} · ${label}`; },
    model(found) {
      const { kernels, trials = 0, seconds = 0 } = found;
      const known = kernels.some(({ workload }) => workload === shown.kernel);
      Object.assign(shown, { model: found, kernel: known ? shown.kernel : kernels[0]?.workload || "", label: `${shown.doing} · ${trials} candidates · ${Math.round(seconds)} s` });
    },
    measured({ measurement }) {
      const again = shown.measurements.findIndex(({ kind }) => kind === measurement.kind);
      shown.measurements.splice(again < 0 ? shown.measurements.length : again, again < 0 ? 0 : 1, measurement);
    },
    tried({ record }) { lines.push(record); const trial = read(record); if (trial) { shown.trials.push(trial); if (!picked) shown.kernel = trial.workload; } },
    searching({ trials, seconds, refused, default_seconds }) { Object.assign(shown, { refused, default_seconds, label: words(trials, seconds, most) }); tick(trials, seconds, most); },
    found({ choices, seconds, default_seconds }) { shown.found = { choices, seconds, default_seconds, type: "found" }; },
    failed({ label, problem }) { shown.failures.push(label === "search" ? problem.message : `${label}: ${problem.message}`); },
    ended: end,
  }, draw);
  running = { id };
  draw();
}

/** How far a search is; after its time come the candidates of the last round, and the best once more. */
const words = (trials, seconds, most) => `${trials} candidates · ${Math.round(seconds)} s${seconds > most ? ": the time is over; what was begun is measured, then the best once more" : ""}`;

/** Let the seconds pass until the next round is told. */
function tick(trials, seconds, most) {
  clearInterval(ticking);
  const since = performance.now() - 1000 * seconds;
  ticking = setInterval(() => {
    const label = $("#search .progress-line span");
    if (label) label.textContent = shown.label = words(trials, (performance.now() - since) / 1000, most);
  }, 1000);
}

function end({ status, message }) {
  if (leaving) return; // the next page listens to it again
  clearInterval(ticking);
  keepHere("search", "");
  running = null;
  shown.running = false;
  buttons(false);
  if (status === "error" && !shown.failures.length) shown.failures.push(message);
  if (!lines.length) return;
  keepLog();
  if (shown.model) tell("options"); // which is built with what was found
}

function keepLog() {
  dropKernels();
  attach(LOG, fitting(lines));
  opened = state.files.get(LOG);
  keepWorkspace();
}

async function stop() {
  if (!running.id) return;
  const answer = await ask(`/api/ladders/${running.id}`, { method: "DELETE" });
  if (unreached(answer)) toast((await answer.json()).error.message);
}

function buttons(active) {
  $("#search-start").textContent = active ? "Stop" : "Search";
  $("#search-start").setAttribute("aria-pressed", String(active));
}

function save() {
  const link = element("a", { href: URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "application/jsonl" })), download: LOG });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function forget() {
  if (running) return;
  detach(LOG);
  dropKernels();
  opened = undefined;
  const ofModel = shown.model;
  clear();
  if (ofModel) tell("options");
}

function clear() {
  lines = [];
  shown = fresh();
  draw();
}

function clicked({ target }) {
  const point = target.closest("[data-trial]");
  const { pin, ban } = target.dataset;
  if (point) show(Number(point.dataset.trial));
  const kernel = target.closest("[data-of-kernel]");
  if (kernel) {
    picked = true;
    Object.assign(shown, { kernel: kernel.dataset.ofKernel, chosen: null, only: [] });
    draw();
  }
  if (target.dataset.only) {
    shown.only = JSON.parse(target.dataset.only);
    draw();
  }
  if (pin) wish("pinned", "banned", JSON.parse(pin));
  if (ban) wish("banned", "pinned", JSON.parse(ban));
  if ("showCandidate" in target.dataset) show(Number($("#search-candidate").value) - 1);
  if ("showBest" in target.dataset) show(Number(target.dataset.showBest));
  if ("useCandidate" in target.dataset) use(Number($("#search-candidate").value) - 1);
  if (target.dataset.takeOut) takeOut(target.dataset.takeOut);
  if ("openCandidate" in target.dataset) openScript(Number($("#search-candidate").value) - 1);
}

/** Pin or ban a decision for the next search, or no longer; of a decision, one choice is pinned. */
function wish(kind, other, decision) {
  const wishes = readWishes(), its = wishesOf(wished());
  const text = JSON.stringify(decision);
  const same = (each) => JSON.stringify(each) === text;
  const had = its[kind].some(same);
  its[other] = its[other].filter((each) => !same(each));
  its[kind] = its[kind].filter((each) => !same(each) && !(kind === "pinned" && each[0] === decision[0]));
  if (!had) its[kind].push(decision);
  if (!keepWishes(wishes.set(wished(), its))) toast("No more decisions can be pinned or banned than a link can hold: take some back first");
  keepWorkspace();
  draw();
}

/** Show a candidate: why the model ranks it as it does, its loops, its primitives, its assembly. */
async function show(at) {
  if (!visible()[at]) {
    toast(noSuch());
    return;
  }
  shown.chosen = at;
  const field = $("#search-candidate");
  if (field) field.value = field.defaultValue = at + 1; // no number that was typed
  await draw();
  const box = $("#search-texts");
  if (!box) return;
  box.replaceChildren(element("p", { class: "hint" }, "deriving it …"));
  box.scrollIntoView({ block: "nearest" }); // where it was chosen in the tree below
  const { candidate, problem } = await texts(at);
  if (shown.chosen !== at) return;
  if (!candidate) {
    $("#search-texts").replaceChildren(element("p", { class: "problem error" }, problem));
    return;
  }
  const steps = candidate.script.split("\n").filter((line) => /^(?:[\w, ]+ = )?s(?:ch)?[.[]/.test(line)).join("\n");
  const part = (title, text) => element("details", title === "Primitives" ? { open: "" } : {}, element("summary", {}, title), element("pre", { tabindex: "0", role: "region", "aria-label": title }, text));
  $("#search-texts").replaceChildren(...(steps ? [part("Primitives", steps)] : []), part("Loop IR", candidate.loops), part("Assembly", candidate.assembly));
}

const noSuch = () => `There is no such candidate: they are numbered from 1 to ${visible().length}`;

async function texts(at) {
  const trial = visible()[at];
  if (!trial) return { problem: noSuch() };
  if (isForeign(trial)) return { problem: "This schedule is of another tuner’s space: only that tuner derives it from its log" };
  if (!trial.choices) return { problem: "this is what the script makes, without a search" };
  const workspace = await workspaceJson(shown.script ?? editor.text);
  delete workspace.files[LOG];
  const asked = { ...workspace, choices: trial.choices, ...(shown.model && (shown.ofModel ?? hasModel()) ? { kernel: { workload: shown.kernel, ways: shown.model.ways ?? {} } } : {}) };
  const key = JSON.stringify(asked);
  if (derived.key === key) return derived.answer;
  const response = await post("/api/candidates", asked);
  const answer = await response.json();
  if (!response.ok) return { problem: answer.error.message };
  if (answer.candidate) derived = { key, answer };
  return answer;
}

/** Let a candidate take the place of the script, which Undo brings back, beside what it is raced with. */
async function openScript(at) {
  const { candidate, problem } = await texts(at);
  if (!candidate) {
    toast(problem);
    return;
  }
  if (candidate.kernel) {
    takeKernel(candidate.kernel, candidate.script, candidate.original);
    return;
  }
  if (!state.files.has(ORIGINAL)) attach(ORIGINAL, editor.text);
  shown.script ??= editor.text; // other candidates are still of that one
  editor.open(candidate.script);
  toast("Ladder measures it step by step, Measure kernels in alternation with yours; Undo brings yours back");
}

/** Build the model with a candidate of a kernel from now on, and show that kernel. */
async function use(at) {
  const { choices, kind, seconds } = visible()[at] ?? {};
  const { candidate, problem } = choices && kind !== "ok" ? { problem: `Candidate ${at + 1} is not used in the model: it was ${kind} when it was measured` } : await texts(at);
  if (!candidate) {
    toast(problem);
    return;
  }
  const decision = (workload, made, time = null, message = "") => JSON.stringify({ v: 1, workload, structure: "", choices: made, kind: "ok", seconds: time, message, features: [], timestamp: Date.now() / 1000, is_decision: true });
  const machine = shown.kernel.slice(shown.kernel.indexOf(" "));
  const ways = Object.entries(shown.model.ways ?? {}).map(([operator, way]) => decision(operator + machine, [["way", way]]));
  decide([decision(shown.kernel, choices, seconds, candidate.kernel), ...ways]);
  dropKernels(candidate.kernel); // one of the visitor's own would go before
  showKernel(candidate.kernel);
  toast(`The model is built with candidate ${at + 1}: Run compares it with the model without it`);
}

/** Build the model with a kernel's own schedule again. */
function takeOut(workload) {
  lines = lines.filter((line) => !isDecision(line) || parse(line).workload !== workload);
  decide([]);
  tell("options");
}

/** Let decisions take the place of those before of the same workloads; what was measured of the model as a whole is of another one. */
function decide(made) {
  const workloads = made.map((line) => parse(line).workload);
  lines = [...lines.filter((line) => !isDecision(line) || !workloads.includes(parse(line).workload)), ...made];
  keepLog();
  const kernels = shown.model.kernels.map((each) => {
    const { choices, message } = decisions().findLast(({ workload }) => workload === each.workload) ?? {};
    return { ...each, kept: Boolean(choices), name: message || each.name };
  });
  shown.model = { ...shown.model, before: null, after: null, kernels };
  draw();
}

let drawing = null;
let again = false;

/** Draw the newest state, where the pane is open; one request at a time. */
async function draw() {
  if (!shown || !pane.offsetParent) return;
  again = true;
  drawing ??= redraw().finally(() => { drawing = null; });
  await drawing;
}

async function redraw() {
  while (again) {
    again = false;
    $("#search-save").hidden = $("#search-drop").hidden = shown.running || !lines.length;
    const seen = visible();
    const best = seen.reduce((least, { seconds, choices }, at) => (choices && seconds && !(seconds >= seen[least]?.seconds) ? at : least), -1);
    const used = JSON.stringify(decisions().findLast(({ workload }) => workload === shown.kernel)?.choices);
    const table = new Map(); // a request has few values: decisions are sent once
    const numbered = (decision) => {
      const key = JSON.stringify(decision);
      if (!table.has(key)) table.set(key, table.size);
      return table.get(key);
    };
    const trials = seen.map(({ features, choices, workload, ...trial }, at) => ({
      ...trial,
      choices: choices && choices.map(numbered).join(" "),
      ...(shown.chosen !== null && (at === best || at === shown.chosen) ? { features } : {}),
    }));
    const asked = { ...shown, doing: undefined, script: undefined, ofModel: undefined, trials, used: shown.kernel && used ? seen.findIndex(({ choices }) => JSON.stringify(choices) === used) : -1, table: [...table.keys()].map((key) => JSON.parse(key)), ...wishesOf(wished()), of_model: hasModel(), by_seconds: $("#search-axis").value === "seconds", room: Math.max(340, $("#search").clientWidth - 28) };
    if (!await drawn("/search", "#search", "#pane-search", asked)) again = true;
  }
}

begin();
