// Asks for an answer whenever the workspace changes; only the newest one counts.
import { $, $$, toast } from "./dom.js";
import { editor } from "./editor.js";
import { on, readJson, state, tell } from "./state.js";

const DEBOUNCE = 250;
let timer;
let mode = "compile";
let asking = null; // aborts the request that is under way

export function compile(wanted = "compile") {
  clearTimeout(timer);
  mode = wanted;
  state.seq += 1;
  document.body.classList.add("pending");
  $("#run-button").disabled = wanted === "run";
  if (wanted === "run") $("#state").textContent = document.body.classList.contains("measuring") ? "waits for the ladder …" : "running …";
  ask(state.seq);
}

export function startCompiling() {
  on("edited", () => {
    clearTimeout(timer);
    delete state.options.prefix;
    timer = setTimeout(compile, DEBOUNCE);
  });
  on("options", () => compile());
  if (state.compiled) arrived();
  else compile();
}

/** Newer requests take the place of older ones, whose answers are dropped even if they come. */
async function ask(seq) {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  try {
    const response = await fetch($("#workspace").action, { method: "POST", body: form(), signal, headers: { "HX-Request": "true" } });
    const html = await response.text();
    if (seq !== state.seq) return;
    done();
    if (response.ok || response.headers.has("Strata-Fragment")) htmx.swap("#workspace", html, { swapStyle: "none", swapDelay: 0, settleDelay: 0 });
    if (response.ok) arrived();
    else if (response.headers.has("Strata-Fragment")) refused(response);
    else fail("something went wrong on the server");
  } catch (error) {
    if (error.name === "AbortError" || seq !== state.seq) return;
    done();
    fail("the server does not answer");
    if (!(error instanceof TypeError)) throw error; // what fetch throws when there is no network
  }
}

function form() {
  const data = new FormData();
  const fields = { script: editor.text, options: JSON.stringify(state.options), view: JSON.stringify(state.view), tab: state.tab, seq: state.seq, mode };
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  for (const [name, blob] of state.files) data.append("files", blob, name);
  return data;
}

function done() {
  document.body.classList.remove("pending");
  $("#run-button").disabled = false;
}

/** Busy servers say when to come back. */
function refused(response) {
  const seconds = Number(response.headers.get("Retry-After"));
  markStale(["loops", "llvm", "asm", "schedule"]);
  if (response.status === 429 && seconds && mode === "compile") timer = setTimeout(compile, seconds * 1000);
}

function fail(message) {
  const box = $("#state");
  box.textContent = `✗ ${message}`;
  box.className = "state failed";
  toast(`${message}; what you see is older`);
}

function arrived() {
  const answer = readJson("answer");
  markStale(($("#state").dataset.stale ?? "").split(" ").filter(Boolean));
  editor.mark(answer.problems);
  tell("answered", answer);
}

export function markStale(names) {
  for (const pane of $$("[data-pane].pane")) pane.classList.toggle("stale", names.includes(pane.dataset.pane) && pane.dataset.pane !== "bench");
  $("#strip").classList.toggle("stale", names.includes("strip"));
}
