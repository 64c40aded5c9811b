// A live workspace: what this page and those of the others tell each other, and who holds the pen.
import { $, announce, toast } from "../dom.js";
import { moveTo } from "../draft.js";
import { editor } from "../editor.js";
import { recall, remember } from "../memory.js";
import { ask as reach, post, retryAfter, unreached } from "../server.js";
import { on, randomName, state, tell } from "../state.js";
import { drawBar, endBar, startBar } from "./bar.js";
import { allow, ownPlace, replace, showOthers, startMarks } from "./marks.js";
import { arrange, compared, setting } from "./setting.js";

const MOVE_MS = 300; // between two reports of where one is
const EDIT_MS = 250; // and between two changes
const HERE_MS = 5000; // after which one says again that one is there
const AGAIN_MS = 2000; // after which a server that did not answer is asked again
const NAME = "live name"; // of this browser
const TEACHER = "#teacher"; // in the address of who looks into a student's workspace
const ONCE_MS = 4000; // for which a refusal is not said again

/** What the bar shows. */
const live = {
  id: "",
  seat: 0,
  listener: "", // what the address of the events names, which may be logged: no key
  name: "",
  people: [], // {seat, name, writes, asks, place}
  writes: false,
  connected: true,
  refused: "", // why one is not there
  problem: "", // why others do not see what was written last
  lost: "", // one's own text, in whose place came another
};

let alone = ""; // what is said at the end, where the session ends once everybody else has left
let version = 0; // of the text that the editor shows
let latest = null; // the newest that the server told: {version, script, setting}
let told = ""; // the setting that the server has, as compared
let owed = { script: false, setting: false }; // what the server was not told yet
let sending = false;
let source = null;
let timers = { move: 0, edit: 0 };
let alarm = null; // after which one says again that one is there, though the page may be hidden
let pinned = [];
let place = ""; // that the server has

const address = () => `/api/live/${live.id}`;
const tab = () => sessionStorage;

let own = "";

/** What the server knows this tab by; nobody else hears it. */
function key() {
  own ||= recall("live key", tab) || randomName(16);
  remember("live key", own, tab);
  return own;
}

/** Make a live workspace of what is on the page.
 * @param {string} [ending] what is said at its end, where it ends once everybody else has left
 * @param {string} [name] what one is called in it
 * @returns {Promise<string>} its address; empty where it was refused */
export async function startTogether(ending = "", name = recall(NAME) ?? "") {
  if (live.id) return link();
  alone = ending;
  const body = { key: key(), name, script: editor.text, setting: await setting() };
  const response = await post("/api/live", body);
  const answer = await response.json();
  if (!response.ok) {
    toast(answer.error.message);
    return "";
  }
  [version, live.writes, live.name, told] = [1, true, name, compared()];
  if (!document.body.classList.contains("teaching")) {
    moveTo(`/live/${answer.id}`);
    state.link = "";
    $("#saved").textContent = "";
  }
  await join(answer.id);
  if (editor.text !== body.script) owe("script"); // typed meanwhile
  return link();
}

const link = () => `${location.origin}/live/${live.id}`;

/** Take part in a live workspace. */
export async function join(id) {
  live.id = id;
  document.body.classList.add("live");
  if (!alarm) listen();
  allow(live.writes);
  startBar(live, { freeze, layPen, leave, link, rename, takePen, writer });
  await attend();
}

function listen() {
  alarm = new Worker(new URL("./alarm.js", import.meta.url), { type: "module" });
  alarm.addEventListener("message", () => { if (live.id) attend(); });
  startMarks({ onMove: move, onRefused: sayWhy });
  on("edited", () => { if (live.writes) owe("script"); });
  for (const event of ["options", "text", "answered"]) on(event, () => { if (live.writes && compared() !== told) owe("setting"); });
  on("pinned", (lines) => { pinned = lines.slice(0, 8); move(); });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && live.id) attend(); });
}

/** Ask the server; null where it does not answer or refuses. */
async function ask(path, method, body) {
  const response = await reach(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify({ key: key(), ...body }) });
  connected(!unreached(response));
  if (response.status === 204) return {};
  const answer = await response.json();
  if (response.ok) return answer;
  if (answer.error.field === "session") finish("This live workspace has ended; you go on by yourself");
  return unreached(response) ? null : { error: answer.error, retry: retryAfter(response) };
}

// Presence

const here = () => ({ ...ownPlace(), pin: pinned });

/** Say that one is there, and where; and again after some seconds. */
async function attend(name = live.name || (location.hash === TEACHER ? "Teacher" : recall(NAME) ?? "")) {
  alarm.postMessage(0);
  const { id } = live;
  const now = here();
  const answer = await ask(`${address()}/people`, "POST", { name, place: now });
  if (live.id !== id) return;
  alarm.postMessage(answer?.retry ? answer.retry * 1000 : HERE_MS);
  live.refused = answer?.error?.message ?? "";
  if (live.refused && answer.error.field === "people") live.refused += "; you are let in once somebody leaves";
  if (answer && !answer.error) {
    place = JSON.stringify(now);
    Object.assign(live, { seat: answer.seat, name: answer.name, listener: answer.listener });
    if (!source) follow();
  }
  drawBar();
}

/** Tell where one is, now and then. */
function move() {
  if (!live.id || timers.move) return;
  timers.move = setTimeout(() => {
    timers.move = 0;
    if (live.id && JSON.stringify(here()) !== place && !sending) attend();
  }, MOVE_MS);
}

async function rename(name) {
  const answer = await ask(`${address()}/people`, "POST", { name });
  if (answer?.error) return toast(answer.error.message);
  if (answer) remember(NAME, (live.name = answer.name));
  return undefined;
}

// What others do

function follow() {
  source?.close();
  source = new EventSource(`${address()}/events?listener=${live.listener}`);
  source.addEventListener("news", ({ data }) => {
    const { text, company } = JSON.parse(data);
    if (text) heardText(text);
    heardPeople(company);
  });
  source.addEventListener("ended", () => finish("This live workspace has ended; you go on by yourself"));
  source.onopen = () => connected(true);
  source.onerror = () => {
    if (!live.id) return;
    connected(false);
    if (source.readyState === EventSource.CLOSED) {
      source = null; // the next report that one is there begins anew
      alarm.postMessage(AGAIN_MS);
    }
  };
}

function connected(now) {
  if (live.connected === now) return;
  live.connected = now;
  announce(now ? "Connected again" : "The connection is lost; trying again");
  drawBar();
}

function heardText({ version: at, script, setting: its }) {
  latest = { version: at, script, setting: its ?? latest?.setting };
  if (!live.writes) show();
}

/** Show what the server has, where it is newer. */
function show() {
  if (!latest || latest.version <= version) return;
  version = latest.version;
  state.following = true;
  replace(latest.script);
  state.following = false;
  const text = JSON.stringify(latest.setting);
  if (text !== shownSetting) arrange(latest.setting);
  shownSetting = text;
}

let shownSetting = "";

function heardPeople({ people, link: frozen }) {
  const before = live.people;
  live.people = people;
  const me = people.find(({ seat }) => seat === live.seat);
  showOthers(people.filter((one) => one !== me));
  sayNews(before, people);
  setWrites(Boolean(me?.writes));
  drawBar();
  if (frozen) finish(`Frozen to /z/${frozen}`, frozen);
  else if (alone && before.length > 1 && people.length === 1) leave(alone);
}

function setWrites(now) {
  if (now === live.writes) return;
  if (now) show();
  else if ((owed.script || sending) && editor.text !== latest?.script) live.lost = editor.text;
  live.writes = now;
  allow(now);
  if (now) {
    told = compared();
    announce("You hold the pen: what you write, everybody sees");
    return;
  }
  owed = { script: false, setting: false };
  version = 0; // whatever the editor has now, the server has something else
  show();
}

/** Let screen readers hear who comes, goes and writes: not each step of their cursors. */
function sayNews(before, now) {
  const names = (people) => new Map(people.map(({ seat, name }) => [seat, name]));
  const [were, are] = [names(before), names(now)];
  const said = [];
  for (const [seat, name] of are) if (!were.has(seat) && seat !== live.seat && before.length) said.push(`${name} is here`);
  for (const [seat, name] of were) if (!are.has(seat) && seat !== live.seat) said.push(`${name} has left`);
  const writer = now.find(({ writes }) => writes);
  if (writer && writer.seat !== live.seat && writer.seat !== before.find(({ writes }) => writes)?.seat) said.push(`${writer.name} holds the pen`);
  const asking = now.find(({ asks, seat }) => asks && !before.find((one) => one.seat === seat)?.asks);
  if (asking && live.writes) said.push(`${asking.name} asks for the pen`);
  if (said.length) announce(said.join(". "));
}

// What one does oneself

function owe(part) {
  owed[part] = true;
  if (!timers.edit && !sending) timers.edit = setTimeout(send, EDIT_MS);
}

async function send() {
  timers.edit = 0;
  if (!live.id || !live.writes || !(owed.script || owed.setting)) return;
  sending = true;
  const body = { base: version, place: here() };
  const sent = owed;
  const compares = compared();
  if (owed.script) body.script = editor.text;
  if (owed.setting) body.setting = await setting();
  owed = { script: false, setting: false };
  const answer = await ask(`${address()}/text`, "PUT", body);
  sending = false;
  if (answer?.accepted) {
    version = answer.version;
    live.problem = "";
    place = JSON.stringify(body.place);
    if (sent.setting) told = compares;
  } else if (answer?.error && !answer.retry) live.problem = `The others do not see this: ${answer.error.message}`;
  else {
    for (const part of Object.keys(sent)) owed[part] ||= sent[part];
    if (answer && !answer.error) setWrites(false); // somebody else has the pen by now
    else timers.edit = setTimeout(send, (answer?.retry ?? 0) * 1000 || AGAIN_MS);
  }
  drawBar();
  if (owed.script || owed.setting) timers.edit ||= setTimeout(send, EDIT_MS);
}

async function takePen() {
  const answer = await ask(`${address()}/pen`, "POST", { take: true });
  if (answer && !answer.error && !answer.yours) toast(`${writer()} is writing and was told that you ask for the pen`);
}

/** Lay the pen down, or hand it to who has a seat; what was written last is told before. */
async function layPen(seat = 0) {
  if (owed.script || owed.setting) await send();
  await ask(`${address()}/pen`, "POST", { take: false, seat });
}

const writer = () => live.people.find(({ writes }) => writes)?.name ?? "nobody";

let refusedAt = -ONCE_MS;

function sayWhy() {
  if (performance.now() - refusedAt < ONCE_MS) return;
  refusedAt = performance.now();
  if (!live.seat) return;
  const holder = writer();
  setTimeout(toast, 0, holder === "nobody" ? "Take the pen to write" : `${holder} holds the pen; take it to write`);
}

/** Make a permalink of the workspace, after which nobody writes in it any more. */
async function freeze() {
  if (owed.script || owed.setting) await send();
  const answer = await ask(`${address()}/link`, "POST", {});
  if (!answer) return;
  if (answer.error) toast(answer.error.message);
  else remember(`tokens.${answer.id}`, `${recall(`tokens.${answer.id}`) ?? ""} ${answer.delete_token}`.trim());
}

export async function leave(words = "You have left; what you see is your own copy") {
  if (!live.id) return;
  if (owed.script || owed.setting) await send();
  const left = ask(`${address()}/departure`, "POST", {});
  finish(words);
  await left;
}

/** Go on by oneself with what is on the page. */
function finish(words, frozen = "") {
  if (!live.id) return;
  source?.close();
  source = null;
  for (const timer of Object.values(timers)) clearTimeout(timer);
  alarm.postMessage(0);
  timers = { move: 0, edit: 0 };
  alone = "";
  Object.assign(live, { id: "", seat: 0, listener: "", name: "", people: [], writes: false, connected: true, refused: "", problem: "", lost: "" });
  [version, latest, told, shownSetting, place] = [0, null, "", "", ""];
  owed = { script: false, setting: false };
  showOthers([]);
  allow(true);
  document.body.classList.remove("live");
  endBar();
  toast(words);
  if (frozen) state.link = frozen;
  if (document.body.classList.contains("teaching")) return;
  moveTo(frozen ? `/z/${frozen}` : "/");
  if (frozen) $("#saved").textContent = `saved · /z/${frozen}`;
}
