// Asks for an answer whenever the workspace changes; only the newest one counts.
import { $, $$, toast } from "./dom.js";
import { editor } from "./editor.js";
import { on, readJson, state, tell } from "./state.js";

const DEBOUNCE = 250;
const form = $("#workspace");
let timer;
let mode = "compile";

export function compile(wanted = "compile") {
  clearTimeout(timer);
  mode = wanted;
  state.seq += 1;
  document.body.classList.add("pending");
  $("#run-button").disabled = wanted === "run";
  if (wanted === "run") $("#state").textContent = "running …";
  htmx.trigger(form, "strata:compile");
}

export function startCompiling() {
  on("edited", () => {
    clearTimeout(timer);
    delete state.options.prefix;
    timer = setTimeout(compile, DEBOUNCE);
  });
  on("options", () => compile());
  form.addEventListener("htmx:configRequest", addWorkspace);
  form.addEventListener("htmx:beforeSwap", choose);
  form.addEventListener("htmx:afterRequest", finished);
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const name of ["htmx:sendError", "htmx:timeout"]) form.addEventListener(name, () => fail("the server does not answer"));
  if (state.compiled) arrived();
  else compile();
}

function addWorkspace({ detail }) {
  const { parameters, formData } = detail;
  parameters.script = editor.text;
  parameters.options = JSON.stringify(state.options);
  parameters.view = JSON.stringify(state.view);
  parameters.tab = state.tab;
  parameters.seq = String(state.seq);
  parameters.mode = mode;
  for (const [name, blob] of state.files) formData.append("files", blob, name);
}

function choose({ detail }) {
  const seq = Number(detail.xhr.getResponseHeader("Strata-Seq") ?? state.seq);
  const fragment = detail.xhr.getResponseHeader("Strata-Fragment");
  if (seq < state.seq || detail.xhr.status === 409) detail.shouldSwap = false;
  else if (fragment) Object.assign(detail, { shouldSwap: true, isError: false });
}

function finished({ detail }) {
  const { xhr } = detail;
  if (!xhr.status || xhr.status === 409 || Number(xhr.getResponseHeader("Strata-Seq") ?? state.seq) < state.seq) return;
  document.body.classList.remove("pending");
  $("#run-button").disabled = false;
  if (xhr.getResponseHeader("Strata-Fragment")) refused(xhr);
  else if (xhr.status >= 400) fail("something went wrong on the server");
  else arrived();
}

/** Busy servers say when to come back. */
function refused(xhr) {
  const seconds = Number(xhr.getResponseHeader("Retry-After"));
  markStale(["loops", "llvm", "asm", "schedule"]);
  if (xhr.status === 429 && seconds && mode === "compile") timer = setTimeout(compile, seconds * 1000);
}

function fail(message) {
  document.body.classList.remove("pending");
  $("#run-button").disabled = false;
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
