// Runs the schedule on the visitor's own GPU, through WebGPU.  What it measures stays in this browser and in its links.
import { $, element, toast } from "./dom.js";
import { editor } from "./editor.js";
import { post } from "./server.js";
import { keepInLinks, on, state, tell, workspaceJson } from "./state.js";
import { pack, unpack } from "./webgpu-link.js";

const PANE = "adapter";
const PATIENCE_SECONDS = 20; // without news, the worker is ended
const MISSING = "Chrome and Edge have it from 113 on (on Linux, Chrome asks for chrome://flags/#enable-unsafe-webgpu), Safari from 26 on, Firefox from 141 on Windows and 145 on Macs.";

let running = null; // {worker, clock, news, asked}: news is when it last told something
let shown = null; // {rows, name, adapter, clock, date, limits, reference, notes, fromLink}

export function startWebGPU() {
  $(`#pane-${PANE}`).addEventListener("click", ({ target }) => {
    if (target.id === "webgpu-run") run(false);
    if (target.id === "webgpu-ladder") run(true);
    if (target.id === "webgpu-stop") end("Stopped.");
    if (target.dataset.line) tell("goto", Number(target.dataset.line));
  });
  on("edited", () => { if (shown) $(`#pane-${PANE}`).classList.add("stale"); });
  const kept = unpack(state.view);
  keepInLinks(() => pack(shown));
  if (!kept) return;
  shown = { ...kept, notes: [], fromLink: true };
  draw();
}

/** Why there is nothing to run on, or null. */
function lacking() {
  if (navigator.gpu) return null;
  if (!isSecureContext) return `WebGPU is only available to pages served over https or from this machine; this page comes from ${location.host}.`;
  return `This browser has no WebGPU. ${MISSING}`;
}

async function run(prefixes) {
  if (running) return;
  const reason = lacking();
  if (reason) {
    say(reason);
    return;
  }
  running = { worker: null, clock: null, news: performance.now() };
  buttons(true);
  say("The server writes the kernels in WGSL …");
  const asked = running;
  const { program, problem } = await prepared(prefixes);
  if (running !== asked) return; // stopped meanwhile
  if (program) begin(program);
  else end(`Nothing to run: ${problem}`);
}

async function prepared(prefixes) {
  const response = await post("/api/webgpu", { ...(await workspaceJson(editor.text)), unit: state.view.unit, prefixes });
  const answer = await response.json();
  return response.ok ? answer : { program: null, problem: answer.error.message };
}

function begin(program) {
  const rows = program.steps.map(({ step, label, line, problem, same_as }) => ({ step, label, line, problem, same: same_as }));
  shown = { rows, name: program.name, flops: program.flops, reference: program.reference, date: new Date().toISOString(), adapter: "", clock: "", notes: [], fromLink: false };
  $(`#pane-${PANE}`).classList.remove("stale");
  if (!program.steps.some(({ launches }) => launches.length)) {
    end("Nothing runs on a GPU:");
    return;
  }
  running.worker = new Worker(new URL("./webgpu/worker.js", import.meta.url), { type: "module" });
  running.worker.addEventListener("message", ({ data }) => told(data));
  running.worker.addEventListener("error", ({ message }) => end(`The worker failed: ${message}`));
  running.clock = setInterval(watch, 1000);
  running.news = performance.now();
  running.worker.postMessage(program);
  say("Requesting the GPU …");
}

/** End a worker that tells nothing any more. */
function watch() {
  if (performance.now() - running.news > PATIENCE_SECONDS * 1000) end(`The GPU has not responded for ${PATIENCE_SECONDS} s; the run was cancelled.`);
}

const NEWS = {
  adapter: ({ name, fallback, limits, features }) => {
    Object.assign(shown, { adapter: fallback ? `${name} (emulated on the CPU)` : name, limits, features });
  },
  preparing: ({ what }) => say(`${what} …`),
  running: ({ step, share }) => say(`Running ${row(step).label} …${share === undefined ? "" : ` ${Math.round(100 * share)}%`}`),
  measured: measured,
  problem: ({ step, message, slow }) => {
    row(step).problem = slow ? `cancelled: ${message}` : message;
  },
  missing: () => end(`The browser has WebGPU, but no GPU for it: its driver may be on the browser's blocklist. ${MISSING}`),
  lost: () => end("The GPU was lost; the next run requests it again."),
  slow: () => end("A kernel took too long, so no other was started. Earlier steps are usually slower."),
  failed: ({ message }) => end(`It failed: ${message}`),
  done: () => end(""),
};

function told(news) {
  if (!running) return;
  running.news = performance.now();
  NEWS[news.kind](news);
  draw();
}

const row = (step) => shown.rows.find((one) => one.step === step);

function measured({ step, check, timing }) {
  const one = row(step);
  one.check = check;
  one.error = check.error;
  if (!check.ok) one.problem = `wrong: ${check.wrong.toLocaleString("en")} of ${check.compared.toLocaleString("en")} compared elements; ${check.first}`;
  if (!timing) return;
  Object.assign(one, timing, { gflops: shown.flops && timing.seconds ? shown.flops / timing.seconds / 1e9 : null });
  one.note = `${check.sampled ? `a sample of ${check.compared.toLocaleString("en")}` : "all"} elements compared with ${shown.reference}`;
  shown.clock = timing.clock;
}

function end(reason) {
  running?.worker?.terminate();
  clearInterval(running?.clock);
  running = null;
  buttons(false);
  say(reason);
  if (reason) toast(reason);
  draw();
}

function buttons(active) {
  $("#webgpu-stop").hidden = !active;
  for (const id of ["webgpu-run", "webgpu-ladder"]) $(`#${id}`).disabled = active;
}

function say(text) {
  $("#webgpu-state").textContent = text;
  $("#webgpu-state").hidden = !text;
}

// The drawing: text from anywhere goes into text nodes only.

function draw() {
  if (!shown) return;
  $("#webgpu-empty").hidden = true;
  $("#facts-adapter").textContent = shown.adapter;
  $("#facts-adapter").title = limitsTold();
  const first = shown.rows.find(({ seconds }) => seconds)?.seconds;
  const fastest = Math.min(...shown.rows.map(({ seconds }) => seconds || Infinity));
  $("#webgpu-rows").replaceChildren(...shown.rows.map((one) => drawn(one, first, fastest)));
  $("#webgpu-table").hidden = !shown.rows.some(({ seconds, problem, same }) => seconds || problem || same != null);
  $("#webgpu-how").textContent = provenance();
}

function drawn(one, first, fastest) {
  const { step, label, seconds, spread, gflops, problem, same, error, note, line } = one;
  const name = line ? element("button", { type: "button", class: "link", "data-line": String(line), title: `${label}, line ${line}` }, label) : label;
  const cells = [element("th", { scope: "row", role: "rowheader", title: label }, name)];
  if (!seconds) {
    const text = problem || (same != null ? `the same loops as step ${same}` : running ? "…" : "not run");
    cells.push(element("td", { colspan: "5", class: "how", role: "cell" }, text));
    return element("tr", { class: problem?.startsWith("wrong") ? "wrong" : "", role: "row", "data-step": String(step) }, ...cells);
  }
  const bar = element("meter", { min: "0", max: "1", value: String(fastest / seconds), title: "speed against the fastest step" });
  const numbers = [[duration(seconds)], [one.repeats > 1 ? `± ${duration(spread)}` : "–"], [gflops ? gflops.toPrecision(3) : "–", "GFLOP/s"], [`${Number((first / seconds).toPrecision(3))}×`, "first"]];
  for (const [text, unit] of numbers) cells.push(element("td", { role: "cell", ...(unit && { "data-unit": unit }) }, text));
  const checked = shown.fromLink ? "measured in a browser" : `✓ max abs error ${error ? error.toExponential(1) : 0}, ${note}`;
  cells.push(element("td", { class: "how", role: "cell" }, bar, ` ${checked} · ${one.repeats} × ${one.number} calls`));
  return element("tr", { role: "row", "data-step": String(step) }, ...cells);
}

function provenance() {
  const when = shown.date.replace("T", " ").slice(0, 16);
  if (shown.fromLink) return `From the link: measured in the browser of whoever shared it, ${when} UTC, on ${shown.adapter || "an unnamed GPU"}; ${shown.clock}. It has not been verified.`;
  if (!shown.clock) return "";
  const repeated = shown.rows.some(({ repeats }) => repeats > 1) ? "; the median of the repeats, ± their interquartile range" : "";
  return `Measured by your browser on your GPU, not by this server: ${shown.clock}${repeated}.`;
}

function limitsTold() {
  const { limits, features } = shown;
  if (!limits) return "";
  const number = (name) => limits[name].toLocaleString("en");
  return `${number("maxComputeInvocationsPerWorkgroup")} threads a block · ${number("maxComputeWorkgroupStorageSize")} bytes of shared memory a block · buffers of ${number("maxStorageBufferBindingSize")} bytes · ${features.join(", ") || "no optional features"}`;
}

function duration(seconds) {
  const [unit, factor] = seconds >= 1 ? ["s", 1] : seconds >= 1e-3 ? ["ms", 1e3] : ["µs", 1e6];
  return `${Number((seconds * factor).toPrecision(3))} ${unit}`;
}
