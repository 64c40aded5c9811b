// Searches for a faster schedule, and draws what comes as it comes; or what a log beside the script says.
import { $, announce, counted, element, toast } from "../dom.js";
import { keepHere, keepWorkspace, readHere } from "../draft.js";
import { editor } from "../editor.js";
import { attach, detach } from "../files.js";
import { dropKernels, takeKernel } from "../forks.js";
import { focusPane } from "../layout.js";
import { showKernel } from "../levels.js";
import { recall, remember } from "../memory.js";
import { AWAY, ask, busyWords, drawn, follow, post, unreached } from "../server.js";
import { encode, on, state, tell, workspaceJson } from "../state.js";
import { LOG, MOST_TRIALS, fitting, isDecision, isForeign, parse, read } from "./log.js";
import { keepWishes, readWishes } from "./wishes.js";

const MOST_KERNELS = 10;
const MOST_LISTED = 100; // of a log, as of app/searches.py
const ORIGINAL = "original.py"; // what a kernel is raced with

let running = null; // what was begun, how far it is, and whether the server is away; empty until the server has answered
let shown = null; // what was drawn
let lines = []; // of the log
let picked = false; // whether the visitor chose the kernel whose candidates are shown
let opened = null; // the file that was read
let deriving = false; // for what was pressed
let derived = {}; // the candidate whose texts came last, and what was asked for them
const wishesOf = (kernel) => readWishes().get(kernel) ?? { pinned: [], banned: [] };
const hasModel = () => !$("#search-what").hidden;
const wished = () => (hasModel() && shown.model ? shown.kernel : "");

const fresh = () => ({ model: null, kernel: "", trials: [], measurements: [], refused: [], default_seconds: null, failures: [], found: null, doing: "", script: undefined, ofModel: undefined, label: "", running: false, kept: "", other: "", chosen: null, only: [] });

const pane = $("#pane-search");
const modelWords = { total: null, others: {}, ways: {}, type: "model" };

function begin() {
  $("#search-start").addEventListener("click", () => (running ? stop() : start()));
  $("#search-save").addEventListener("click", save);
  $("#search-drop").addEventListener("click", forget);
  $("#search-axis").value = recall("search-axis") ?? "trials";
  $("#search-axis").addEventListener("change", ({ target }) => { remember("search-axis", target.value); draw(); });
  pane.addEventListener("click", clicked);
  pane.addEventListener("toggle", ({ target }) => { if (target.open && target.matches(".tree details")) check(); }, true);
  pane.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.id === "search-candidate") show(Number(event.target.value) - 1);
  });
  on("options", openLog);
  on("answered", offer);
  on("edited", () => { if (shown) pane.classList.toggle("stale", editor.text !== shown.script); });
  on("sharing", () => {
    if (!running || !lines.length) return;
    keepLines();
    toast("A search goes on: the link has what it has measured until now");
  });
  addEventListener("pageshow", ({ persisted }) => { if (persisted && running) location.reload(); }); // which heard nothing meanwhile
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

/** Say something, also to those who look at other panes. */
const say = (text) => (pane.offsetParent ? announce(text) : toast(text));

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
  if (opened && !file && !running) clear("search.jsonl was removed, and what it told of is no longer shown. Search begins anew.");
  opened = file;
  if (running && file) toast("A search goes on, and its log takes the place of this one: drop it again when it has ended");
  if (running || !file) return;
  lines = (await file.text()).split("\n").filter(Boolean).slice(-MOST_TRIALS);
  shown = { ...fresh(), ...logged() };
  const strange = lines.length - shown.trials.length - decisions().length;
  const origin = shown.trials.some(isForeign) ? "Translated from a log of TVM’s: what was measured elsewhere, not now. Search does not go on from it." : "From the log beside the script: what others or an earlier search wrote, not measured now. Search goes on from what is of the same function, target and number of threads.";
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
  announce(`The search has begun: ${search.seconds} seconds once it is its turn`);
}

/** Listen again to the search that goes on while the page is reloaded. */
function goOn() {
  const begun = readHere("search");
  if (begun && !running) attend(JSON.parse(begun), false);
}

/** Draw what a search tells, from its beginning. */
function attend({ id, events, model, seconds: most, script }, isAnother) {
  let since = 0;
  const tick = () => {
    if (!running) return;
    if (since && !running.isAway) shown.label = words(running.trials, (performance.now() - since) / 1000, most);
    const label = $("#search .progress-line span");
    if (label) label.textContent = running.isAway ? AWAY : shown.label;
  };
  const trials = lines.map(read).filter(Boolean);
  picked = false;
  shown = { ...fresh(), script, ofModel: model, trials, kernel: model || !trials.length ? "" : isAnother ? "none yet" : trials.at(-1).workload, running: true, label: "waiting for its turn" };
  pane.classList.remove("stale");
  buttons(true);
  const { close } = follow(events, {
    queued({ place }) { since = 0; shown.label = busyWords(place); },
    progress({ done, total, label }) { shown.label = shown.doing = model ? label : done < total ? `measuring what candidates are compared with, ${done + 1} of ${total}: ${label}` : "deriving and compiling the first candidates"; },
    model(found) {
      const { kernels, trials = 0, seconds = 0 } = found;
      const known = kernels.some(({ workload }) => workload === shown.kernel);
      Object.assign(shown, { model: found, kernel: known ? shown.kernel : kernels[0]?.workload || "", label: `${shown.doing} · ${trials} candidates · ${Math.round(seconds)} s` });
    },
    measured({ measurement }) {
      const again = shown.measurements.findIndex(({ kind }) => kind === measurement.kind);
      shown.measurements.splice(again < 0 ? shown.measurements.length : again, again < 0 ? 0 : 1, measurement);
    },
    tried({ record }) {
      const trial = read(record);
      if (trial?.choices) running.tried += 1;
      if (lines.includes(record)) return; // told before the page was left, and kept in a link
      lines.push(record);
      if (trial) shown.trials.push(trial);
      if (trial && !picked) shown.kernel = trial.workload;
    },
    searching({ trials, seconds, refused, default_seconds }) {
      since = performance.now() - 1000 * seconds;
      running.trials = trials;
      Object.assign(shown, { refused, default_seconds, label: words(trials, seconds, most) });
    },
    found({ choices, seconds, default_seconds }) { shown.found = { choices, seconds, default_seconds, type: "found" }; },
    failed({ label, problem }) { shown.failures.push(failing(label) + problem.message.replace(/^search: /, "")); },
    ended: end,
  }, draw, (isAway) => {
    running.isAway = isAway;
    tick();
    say(isAway ? "The server does not answer; the page goes on trying" : "The server answers again");
  });
  running = { id, close, tried: 0, trials: 0, isAway: false, ticking: setInterval(tick, 1000) };
  draw();
}

/** What failed, before the reason: the search, the script, or a function. */
const failing = (label) => (label === "search" ? "" : label === "script" ? "the script fails: " : /^line \d+$/.test(label) ? `the script fails at ${label}: ` : `${label}: `);

/** How far a search is; after its time come the candidates of the last round, and the best once more. */
const words = (trials, seconds, most) => `${trials} candidates · ${Math.round(seconds)} s${seconds > most ? ": the time is over; what was begun is measured, then the best once more" : ""}`;

const FORGOTTEN = "The server no longer knows this search, as after a restart. What was measured is kept, and Search goes on from it.";

function end({ status, message, isForgotten }) {
  const trials = counted(running.tried, "trial");
  clearInterval(running.ticking);
  keepHere("search", "");
  running = null;
  shown.running = false;
  buttons(false);
  if (status === "error" && !shown.failures.length) shown.failures.push(isForgotten ? FORGOTTEN : message);
  if (lines.length) keepLog();
  if (lines.length && shown.model) tell("options"); // which is built with what was found
  say(outcome(status, trials));
}

/** What came of a search, in a sentence. */
function outcome(status, trials) {
  const { found, model, failures: [failure] } = shown;
  if (status === "stopped") return `The search was stopped after ${trials}`;
  if (model?.after) return `Search ended: ${model.after < model.before ? `the model takes ${(model.after / model.before).toFixed(2)} of its time before` : "nothing makes the whole model certainly faster"}, after ${trials}`;
  if (found?.choices) return `Search ended: ${(found.seconds / found.default_seconds).toFixed(2)} of the default’s time after ${trials}`;
  return failure ? `The search failed: ${failure}` : `Search ended: nothing is certainly faster than what the script makes, after ${trials}`;
}

/** Let the workspace, and so links, have what was measured until now. */
function keepLines() {
  attach(LOG, fitting(lines));
  opened = state.files.get(LOG);
}

function keepLog() {
  dropKernels();
  keepLines();
  keepWorkspace();
}

async function stop() {
  const { id, close } = running;
  if (!id) return;
  const answer = await ask(`/api/ladders/${id}`, { method: "DELETE" });
  if (!unreached(answer) || running?.id !== id) return;
  close();
  shown.failures.push("The search was stopped while the server did not answer, where it ends by itself. What was measured until then is kept.");
  end({ status: "stopped" });
  $("#search .progress-line")?.remove(); // nothing is drawn before the server answers
  draw();
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
  clear("The search and its log are forgotten. Search begins anew.");
  announce(shown.kept);
  $("#search-start").focus(); // its own button is hidden
  if (ofModel) tell("options");
}

function clear(kept) {
  lines = [];
  shown = { ...fresh(), kept };
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

/** Find out whether the candidates of a log are of the script, before any of their decisions is pinned. */
async function check() {
  const byRules = bestOf(visible().map((trial) => (isOfTemplate(trial) ? { ...trial, choices: null } : trial)));
  const at = byRules < 0 ? bestOf(visible()) : byRules;
  if (shown.script === undefined && at >= 0) await texts(at);
}

/** Whether a candidate has the primitives of a script's schedule, which may have been another one then. */
const isOfTemplate = ({ choices }) => choices?.some(([name, value]) => name === "way" && String(value).startsWith("template "));

const bestOf = (trials) => trials.reduce((least, { seconds, choices }, at) => (choices && seconds && !(seconds >= trials[least]?.seconds) ? at : least), -1);

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
  const of = shown, { other } = of;
  if (derived.key !== key) {
    const response = await post("/api/candidates", asked);
    const answer = await response.json();
    if (!response.ok) return { problem: answer.error.message };
    derived = { key, answer };
  }
  if (trial.kind === "ok" && of.script === undefined && (derived.answer.candidate || !isOfTemplate(trial))) of.other = whyOther(trial, derived.answer).slice(0, 1000);
  if (of.other !== other) draw();
  return derived.answer;
}

/** Why a search of the script does not go on from a candidate. */
function whyOther({ workload }, { candidate, problem }) {
  if (candidate) return candidate.workload === workload ? "" : "the script’s function is another one now, or its target or number of threads";
  return `the script has none such now (${problem})`;
}

/** Derive a candidate for what was pressed, once however often that is, and say so as long as it takes; null where there is none. */
async function derive(at) {
  if (deriving) return null;
  const saying = setInterval(() => toast(`Deriving candidate ${at + 1} …`), 1000);
  deriving = true;
  const { candidate, problem } = await texts(at).finally(() => {
    deriving = false;
    clearInterval(saying);
  });
  if (!candidate) toast(problem);
  return candidate;
}

/** Let a candidate take the place of the script, which Undo brings back, beside what it is raced with. */
async function openScript(at) {
  const candidate = await derive(at);
  if (!candidate) return;
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
  if (choices && kind !== "ok") {
    toast(`Candidate ${at + 1} is not used in the model: it was ${kind} when it was measured`);
    return;
  }
  const candidate = await derive(at);
  if (!candidate) return;
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
    const best = bestOf(seen), foreign = seen.some(isForeign);
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
    const asked = { ...shown, ...(foreign ? { foreign, other: "they are of another tuner, which alone derives them" } : {}), doing: undefined, script: undefined, ofModel: undefined, trials, used: shown.kernel && used ? seen.findIndex(({ choices }) => JSON.stringify(choices) === used) : -1, table: [...table.keys()].map((key) => JSON.parse(key)), ...wishesOf(wished()), of_model: hasModel(), by_seconds: $("#search-axis").value === "seconds", room: Math.max(340, $("#search").clientWidth - 28) };
    if (!await drawn("/search", "#search", "#pane-search", asked)) again = true;
  }
}

begin();
