// A challenge beside the workspace: its check, the entry into its board, and the ladders of others as ghosts.
import { showWorkspace, startBeside } from "../beside.js";
import { $, $$, announce, element, readJson, toast } from "../dom.js";
import { editor } from "../editor.js";
import { compareWith, measure } from "../ladder.js";
import { focusPane } from "../layout.js";
import { recall, remember } from "../memory.js";
import { ask, busyWords, follow, post } from "../server.js";
import { on, randomName, workspaceJson } from "../state.js";
import { keepBest, readBest } from "./best.js";

const challenge = $("#challenge") && readJson("challenge-data"); // {name, script, gpu}
const api = () => `/api/challenges/${challenge.name}`;
let attempt = null; // what passed, and may be entered: {workspace, ladder}

export function startChallenge() {
  startBeside($("#challenge"));
  $("#challenge-check").addEventListener("click", check);
  $("#challenge-reset").addEventListener("click", () => { editor.text = challenge.script; });
  on("edited", () => { forget(); say(""); });
  if (challenge.gpu) return;
  $("#challenge-name").value = recall("board name") ?? "";
  $("#challenge-entry").addEventListener("submit", (event) => { event.preventDefault(); enter(); });
  $("#challenge").addEventListener("click", clicked);
  $("#challenge").addEventListener("change", ({ target }) => { if (target.id === "board-cpu") showBoard(target.value); });
  showBest();
  markOwn();
}

/** The key of this browser, which only the server sees. */
function key() {
  if (!/^[0-9a-f]{32}$/.test(recall("board key") ?? "")) remember("board key", randomName(16));
  return recall("board key") ?? randomName(16);
}

function say(text, passed = false) {
  $("#challenge-verdict").textContent = text;
  $("#challenge-verdict").classList.toggle("passed", passed);
}

function forget() {
  attempt = null;
  if (!challenge.gpu) $("#challenge-enter").disabled = true;
  for (const item of $$("#challenge-checks li")) {
    item.className = "";
    $("small", item).textContent = "";
  }
}

function showBest() {
  const best = readBest(challenge.name);
  if (best) $("#challenge-best").textContent = best.words;
}

// Checking

async function check() {
  const button = $("#challenge-check");
  button.disabled = true;
  forget();
  try {
    await judge(await workspaceJson(editor.text));
  } finally {
    button.disabled = false;
  }
}

async function judge(workspace) {
  say(challenge.gpu ? "Checking …" : "Measuring …");
  const ladder = challenge.gpu ? "" : await measure(`${api()}/ladder`, workspace);
  if (ladder === null) return say("It could not be measured; the Benchmark pane says why.");
  const response = await post(`${api()}/check`, { workspace, ladder });
  const answer = await response.json();
  if (!response.ok) return say(`It could not be checked: ${answer.error.message}.`);
  if (workspace.script !== editor.text) return say("");
  return show(answer, { workspace, ladder });
}

function show({ passed, verdicts, seconds, words, numpy, disturbed }, what) {
  $$("#challenge-checks li").forEach((item, index) => {
    item.className = verdicts[index].passed ? "passed" : "failed";
    $("small", item).textContent = verdicts[index].detail;
  });
  if (!passed) return say("Not yet: this may not be entered.");
  if (challenge.gpu) return say("The definition is the problem's.", true);
  if (!seconds) return say("It could not be timed; the Benchmark pane says why.");
  if (!disturbed) keepBest(challenge.name, { seconds, words });
  showBest();
  $("#challenge-numpy").textContent = numpy || "not measured";
  attempt = what;
  $("#challenge-enter").disabled = false;
  say(disturbed ? `${words}, while others used the machine: it does not count as your best. Check again when it is quieter.` : words, !disturbed);
  return announce(words);
}

// The board

async function enter() {
  const name = $("#challenge-name").value.normalize("NFC").replace(/ +/g, " ").trim(); // as the board shows it
  if (!name) {
    $("#challenge-name").focus();
    return say("Type a name first, then enter the board.");
  }
  const entered = () => remember("board name", name); // one that is refused may be another's
  return contest(`${api()}/entries`, { ...attempt, name, key: key() }, "Entered: the board was measured in one batch.", entered);
}

/** Have a batch measured, tell how far it is, and show the board. */
async function contest(address, body, done, succeeded = () => {}) {
  const response = await post(address, body);
  const answer = await response.json();
  if (!response.ok) return say(`Refused: ${answer.error.message}.`);
  const ended = await followed(answer.events);
  if (ended.status !== "ok") return say(ended.status === "stopped" ? "It was stopped." : `Refused: ${ended.message}.`);
  succeeded();
  await showBoard();
  return say(done, true);
}

function followed(events) {
  const buttons = $$("#challenge-enter, #board-measure");
  for (const button of buttons) button.disabled = true;
  return new Promise((resolve) => {
    follow(events, {
      queued({ place }) { say(busyWords(place)); },
      progress({ label }) { say(`The server ${label} …`); },
      ended(how) {
        for (const button of buttons) button.disabled = button.id === "challenge-enter" && !attempt;
        resolve(how);
      },
    });
  });
}

async function showBoard(cpu = $("#board-cpu").value) {
  await htmx.ajax("GET", `/challenges/${challenge.name}/board`, { target: "#challenge-board", swap: "outerHTML", values: { cpu } });
  markOwn();
}

/** Names belong to browsers: of one's own row more can be done. */
function markOwn() {
  const mine = (recall("board name") ?? "").toLowerCase();
  const own = $$("[data-entry]").filter((row) => mine && $("bdi", row).textContent.toLowerCase() === mine);
  for (const row of own) {
    row.classList.add("own");
    const button = (title, attribute) => element("button", { type: "button", class: "small", [attribute]: row.dataset.entry }, title);
    $("#challenge-board").append(element("p", { class: "board-own" }, "Your entry: ", button("Open", "data-own-script"), " ", button("Withdraw", "data-withdraw")));
  }
}

function clicked({ target }) {
  const { ghost, ownScript, withdraw } = target.dataset;
  if (ghost) haunt(target, ghost);
  if (ownScript) openOwn(ownScript);
  if (withdraw) remove(withdraw);
  if (target.id === "board-measure") contest(`${api()}/board?cpu=${encodeURIComponent($("#board-cpu").value)}`, {}, "All entries were measured again, in one batch.");
}

async function entry(id, init = {}) {
  const response = await ask(`${api()}/entries/${id}`, init);
  if (response.status === 204) return {};
  const answer = await response.json();
  if (response.ok) return answer;
  toast(answer.error.message);
  return null;
}

/** Draw the ladder of an entry under one's own, or no longer. */
async function haunt(button, id) {
  const pressed = button.getAttribute("aria-pressed") === "true";
  const answer = pressed ? null : await entry(id);
  if (!pressed && !answer) return;
  for (const other of $$("[data-ghost]")) other.setAttribute("aria-pressed", String(other === button && !pressed));
  if (answer) {
    focusPane("bench");
    showWorkspace();
  }
  compareWith(answer && { measurements: answer.measurements, date: new Date(answer.entered * 1000).toISOString(), name: answer.name });
}

async function openOwn(id) {
  const answer = await entry(id, { headers: { "X-Entry-Key": key() } });
  if (answer) editor.text = answer.script;
}

async function remove(id) {
  if (await entry(id, { method: "DELETE", headers: { "X-Entry-Key": key() } })) {
    await showBoard();
    say("Your entry is deleted.");
  }
}
