// Asks for an answer whenever the workspace changes; only the newest one counts.
import { $, $$, announce, counted, ownWindow, toast, readJson } from "./dom.js";
import { editor } from "./editor.js";
import { PANES } from "./panes.js";
import { ask, busyWords, retryAfter, unreached } from "./server.js";
import { on, state, tell } from "./state.js";

const PAUSE = { usual: 250, short: 150, long: 1000, follower: 700 }; // milliseconds without a key after which the text is compiled: first by who writes it
const QUICK = 200; // milliseconds of an answer after which the next pause is short
const SHARE = 8; // of the time of a slow answer, which may last while others wait, the next pause is this part
const FADING = 400; // milliseconds after which what is shown loses colour
const PATIENCE = 800;
const LONG = 2000; // milliseconds of a compilation after which it can be stopped
const AGAIN = 3000; // milliseconds after which a server that did not answer is asked again
let pause = PAUSE.short; // of the typist, as long as the server is quick: a request too many costs it little
let keyed = 0; // when the text changed last
let timer = null; // of the next request
let fading; // timer of the colours
let slow;
let asking = null; // aborts the request that is under way
let began = 0; // when it was sent

/** Newer requests take the place of older ones, whose answers are dropped even if they come. */
function begin() {
  clearTimeout(timer);
  timer = null;
  clearTimeout(slow);
  asking?.abort();
  asking = new AbortController();
  state.seq += 1;
  outdate();
}

/** What is shown belongs to a text before; while an answer comes soon, it keeps its colours. */
function outdate() {
  clearTimeout(fading);
  document.body.classList.add("pending");
  fading = setTimeout(() => document.body.classList.add("overdue"), FADING);
}

export function compile() {
  begin();
  running(false);
  slow = setTimeout(sayWaiting, PATIENCE, state.seq);
  began = performance.now();
  send(state.seq, "/panes", async (response) => {
    pause = pauseAfter(performance.now() - began);
    const html = await response.text();
    if (response.headers.get("Strata-Status") !== "ok") await typed();
    if (!current(response.seq)) return;
    done();
    if (response.status === 204) return; // another request took its place
    if (response.ok) swap("answer", html, arrived);
    else if (response.headers.has("Strata-Fragment")) swap("refused", html, () => refused(compile, retryAfter(response)));
    else if (!again(compile, retryAfter(response))) fail("something went wrong on the server");
  });
}

const pauseAfter = (took) => (took < QUICK ? PAUSE.short : Math.min(Math.max(took / SHARE, PAUSE.usual), PAUSE.long));

/** Say that it takes long; why, the server is asked, which may take long too. */
function sayWaiting(seq) {
  sayCompiling();
  sayWhy(seq);
}

function sayCompiling() {
  const waited = performance.now() - began;
  $("#state").textContent = waited < LONG ? "compiling …" : `compiling … ${Math.floor(waited / 1000)} s`;
  $("#stop-button").hidden = waited < LONG;
}

/** Give up what is compiled: its request ends, and with it the script. */
function stop() {
  begin();
  done();
  const box = $("#state");
  box.className = "state stopped";
  box.textContent = `stopped after ${counted(Math.round((performance.now() - began) / 1000), "second")}`;
  announce(box.textContent);
}

/** What takes so long: the queue, or the script itself. */
async function sayWhy(seq) {
  const response = await fetch(`/api/queue?tab=${state.tab}`).catch(() => null); // the request itself tells of a lost network
  const { compiling: [place] = [] } = response?.ok ? await response.json() : {};
  if (!current(seq) || !document.body.classList.contains("pending")) return;
  sayCompiling();
  if (place) $("#state").textContent = busyWords(place);
  slow = setTimeout(sayWhy, PATIENCE, seq);
}

/** Run the script in full; news come line by line. */
export function run() {
  begin();
  running(true);
  for (const problem of $$(".console .problem")) problem.remove(); // of the time before
  $("#state").textContent = document.body.classList.contains("measuring") ? "waiting for the ladder …" : "running …";
  began = performance.now();
  slow = setTimeout(sayRunning, LONG);
  send(state.seq, "/run", async (response) => {
    if (!response.ok) {
      done();
      if (!again(run, retryAfter(response))) fail("something went wrong on the server");
      return;
    }
    for await (const message of messages(response.body)) {
      if (!current(response.seq)) return;
      if (message.kind === "update") swap(message.kind, message.html, () => showRun(message));
      else {
        done();
        swap(message.kind, message.html, message.kind === "answer" ? ran : () => refused(run, message.retry));
      }
    }
  });
}

/** Say how long a run goes on, unless it waits. */
function sayRunning() {
  const box = $("#state");
  if (box.textContent.startsWith("running …")) box.textContent = `running … ${Math.floor((performance.now() - began) / 1000)} s`;
  slow = setTimeout(sayRunning, PATIENCE);
}

/** Where a run is: in the queue, or at a line. */
function showRun({ line, place }) {
  editor.running(line);
  if (place) $("#state").textContent = busyWords(place);
}

const TRIES = 6; // of what a busy server did not come to
const STARVED = 2; // of a script that had no processor: it may have no end either, which is to be said
let tries = TRIES;

/** Do again after some seconds what the server had no time for, unless something newer is asked for until then.
 * @returns {boolean} false where it was tried often enough */
function again(action, seconds) {
  if (!seconds || !tries) return false;
  tries -= 1;
  timer = setTimeout(action, seconds * 1000);
  outdate();
  sayBusy();
  return true;
}

function sayBusy() {
  $("#state").textContent = busyWords();
  $("#state").className = "state waiting";
  $("#stop-button").hidden = false;
}

let owed = false; // whether the script has changed since the request that is under way

/** Compile what a slider writes as fast as answers come; the newest value follows the one that is under way. */
function follow() {
  owed = document.body.classList.contains("pending");
  if (!owed) compile();
}

export function startCompiling() {
  on("busy", () => { if (document.body.classList.contains("pending")) sayBusy(); else toast(busyWords()); });
  on("replaced", () => { state.replaced = true; });
  $("#stop-button").addEventListener("click", stop);
  if (ownWindow) { // the page that it belongs to compiles
    on("mirror", mirror);
    for (const event of ["edited", "options"]) on(event, outdate);
    return;
  }
  on("edited", () => {
    delete state.options.prefix;
    tries = TRIES;
    if (state.sliding) return follow();
    clearTimeout(timer);
    asking?.abort();
    keyed = performance.now();
    timer = setTimeout(compile, state.following ? PAUSE.follower : pause);
    outdate();
  });
  on("options", compile);
  if (state.compiled) arrived();
  else compile();
}

/** Whether nothing newer was asked for, and no key came since. */
const current = (seq) => seq === state.seq && !asking.signal.aborted;

/** Wait as long as typists usually pause: half a word is not called wrong before they go on. */
const typed = () => new Promise((resolve) => { setTimeout(resolve, Math.max(0, keyed + PAUSE.usual - performance.now())); });

async function send(seq, address, receive) {
  try {
    const response = await ask(address, { method: "POST", body: form(), signal: asking.signal, headers: { "HX-Request": "true" } });
    if (!unreached(response)) await receive(Object.assign(response, { seq }));
    else if (current(seq)) lost();
  } catch (error) {
    if (error.name === "AbortError" || !current(seq)) return;
    lost();
    if (!(error instanceof TypeError)) throw error; // what a stream throws that breaks off
  }
}

/** Without a server, ask until it is there again. */
function lost() {
  done();
  fail("the server is not responding");
  timer = setTimeout(compile, AGAIN);
}

/** The JSON lines of a stream as they come. */
async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done: ended, value } = await reader.read();
    if (ended) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

function swap(kind, html, then) {
  htmx.swap("#workspace", html, { swapStyle: "none", swapDelay: 0, settleDelay: 0 });
  then();
  tell("swapped", { kind, html });
}

const MIRRORED = { answer: arrived, refused: () => markStale(staleNames()), update() {}, text: (pane) => tell("text", pane) };

/** Show what the page shows that this window belongs to. */
function mirror({ kind, html, pane }) {
  if (kind === "answer" || kind === "refused") {
    begin();
    done();
  }
  swap(kind, html, () => MIRRORED[kind](pane));
}

function form() {
  const data = new FormData();
  state.asked = editor.text;
  const fields = { script: state.asked, options: JSON.stringify(state.options), uploads: JSON.stringify(Object.fromEntries(state.uploads)), view: JSON.stringify(state.view), shown: shown(), tab: state.tab, seq: state.seq, replaced: state.replaced };
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  for (const [name, blob] of state.files) data.append("files", blob, name);
  return data;
}

/** The keys of the listings that the page shows: the lines of one that stays as it is need not come again. */
const shown = () => JSON.stringify($$(".code:not([data-omitted])").map(({ dataset }) => dataset.key));

/** While a script runs, the button stops it. */
function running(active) {
  $("#run-button").classList.toggle("stops", active);
  $("#run-label").textContent = active ? "Stop" : "Run";
  if (!active) editor.running(null);
}

function done() {
  clearTimeout(slow);
  clearTimeout(fading);
  $("#stop-button").hidden = true;
  document.body.classList.remove("pending", "overdue");
  if (timer !== null || owed) outdate(); // typing went on while the answer was made
  if (owed) setTimeout(compile);
  owed = false;
  running(false);
}

function refused(action, seconds) {
  markStale(staleNames());
  again(action, seconds);
  announce($("#state").textContent.trim());
}

function fail(message) {
  const box = $("#state");
  const words = `✗ ${message}`;
  if (box.textContent !== words) toast(`${message}; what you see is stale`); // said once, however often it is tried
  box.textContent = words;
  box.className = "state failed";
}

function arrived() {
  // What was left out as it was shown, and is not any more because another step was chosen meanwhile, is asked for anew.
  if ($(".code[data-omitted]")) return compile();
  const answer = readJson("answer");
  markStale(staleNames());
  if (state.replaced) for (const scrolled of $$(".pane:not(#pane-source) .scroll")) scrolled.scrollTop = 0;
  state.replaced = false;
  editor.mark(answer.problems);
  editor.hint(answer);
  // A script that had no processor may come to its end the next time.
  const starved = answer.mode === "compile" && answer.problems.some((problem) => problem.starved);
  tries = starved ? Math.min(tries, STARVED) : TRIES;
  if (!starved || !again(compile, AGAIN / 1000)) hear(answer);
  tell("answered", answer);
}

let heard = "compiled"; // the page comes compiled

/** Let screen readers hear when a script begins to fail, fails otherwise or compiles again: not each answer to each key. */
function hear({ problems: [problem] }) {
  const where = problem?.line ? ` at line ${problem.line}` : "";
  const words = problem ? `${problem.kind}${where}: ${problem.message}` : "compiled";
  if (words !== heard) announce(words);
  heard = words;
}

/** The end of a run: what the script does not measure itself, the server does. */
function ran() {
  arrived();
  announce($("#state").textContent.trim());
  const { status, measurements } = readJson("answer");
  if (status === "ok" && !measurements.length && !$("#strip .group.graph")) tell("unmeasured");
}

/** What the answer that was just swapped in left as it was. */
const staleNames = () => ($("#state").dataset.stale ?? "").split(" ").filter(Boolean);

function markStale(names) {
  // Measurements are as old as they are, whatever was compiled since; and where nothing is shown, nothing is stale.
  for (const { name, on_demand: onDemand } of PANES) {
    const pane = $(`#pane-${name}`);
    if (!onDemand) pane.classList.toggle("stale", names.includes(name) && !$(".empty, :is(.drawing, .flow):empty", pane));
  }
  $("#strip").classList.toggle("stale", names.includes("strip"));
}
