// A class: the teacher presents, students follow and leave with Escape, and all see the board.
import { $, announce, element, toast } from "../dom.js";
import { editor } from "../editor.js";
import { currentStep, lessonName, showAs, showOwn } from "../lesson.js";
import { recall, remember } from "../memory.js";
import { ask as reach, unreached } from "../server.js";
import { on, randomName, state, tell } from "../state.js";

const PRESENT_MS = 300;
const ATTEND_MS = 15_000;
const LIST_MS = 2_000;
const ENDED = "This class has ended";
const AGAIN_MS = 3_000; // after which a server that did not answer is asked again

const name = new URLSearchParams(location.search).get("class");
const secret = new URLSearchParams(location.hash.slice(1)).get("teacher"); // a fragment never leaves the browser
const address = `/api/classes/${encodeURIComponent(name)}`;

let news = { presented: null, board: [], students: 0 };
let following = true; // a student follows whoever presents, until they leave
let presenting = null; // null until the first news: a teacher who reloads the page goes on presenting
let sent = "";
let timer = 0;
let sending = Promise.resolve(); // what is on its way must not arrive after the end of the presentation
let line = 0;
let pupils = []; // what the teacher's list shows
let ended = false;
let source = null;
let beat = 0; // the timer of the list, or of attendance

export function startClass() {
  $("#teach").addEventListener("click", teach);
  if (!name) return;
  $("#teach").hidden = true;
  $("#class-bar").hidden = false;
  listen();
  if (secret) startTeacher();
  else startStudent();
  draw();
}

function listen() {
  if (ended) return;
  source = new EventSource(`${address}/events`);
  source.addEventListener("news", ({ data }) => heard(JSON.parse(data)));
  source.addEventListener("ended", finish);
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) listenAgain(); };
}

/** A stream that is refused does not say why: the class has ended, or its server is away. */
async function listenAgain() {
  const asked = new AbortController();
  const { status } = await reach(`${address}/events`, { signal: asked.signal });
  asked.abort();
  if (status === 404) finish();
  else setTimeout(listen, AGAIN_MS);
}

/** Everybody works by himself from here on; the board stays as it was seen last. */
function finish() {
  if (ended) return;
  ended = true;
  source.close();
  clearInterval(beat);
  presenting = false;
  heard({ ...news, presented: null });
  toast(ENDED);
}

let reached = true; // whether the server answered when it was asked last

async function ask(path, method, body) {
  const headers = { ...(body && { "Content-Type": "application/json" }), ...(secret && { "X-Class-Secret": secret }) };
  const response = await reach(path, { method, headers, body: body && JSON.stringify(body) });
  const before = reached;
  reached = !unreached(response);
  if (response.status === 204) return {};
  const answer = await response.json();
  if (response.ok) return answer;
  if (answer.error.field === "class") {
    finish();
    return null;
  }
  if (reached || before) toast(answer.error.message); // of a server that is away it is said once
  return null;
}

async function teach() {
  const made = await ask("/api/classes", "POST", { lesson: lessonName });
  if (made) location.assign(`/learn/${lessonName}?class=${made.id}#teacher=${made.secret}`);
}

function heard(message) {
  const before = news;
  news = message;
  if (secret) presenting ??= news.presented !== null;
  else follow(before);
  draw();
}

// Students

/** What the server knows this browser by; nobody else hears it. */
function key() {
  const own = recall(`student.${name}`);
  if (own) return own;
  const made = randomName(16);
  remember(`student.${name}`, made);
  return made;
}

let student = "";
let seat = "";

function startStudent() {
  student = key();
  attend();
  beat = setInterval(attend, ATTEND_MS);
  on("lesson-step", attend);
  on("lesson-passed", async ({ number, workspace, ladder, predictions }) => {
    if (!ended) await ask(`${address}/results`, "POST", { student, number, workspace, ladder, predictions });
  });
  on("leave", () => { if (follows()) leave(); });
  on("edited", () => { if (follows() && editor.text !== news.presented.script) leave(); });
}

async function attend() {
  const answer = ended ? null : await ask(`${address}/students`, "POST", { student, step: currentStep() });
  if (!answer) return;
  seat = answer.name;
  draw();
}

const follows = () => following && news.presented !== null && !secret;

function follow(before) {
  if (follows()) apply(news.presented);
  else if (before.presented && !news.presented && following) goBack();
  document.body.classList.toggle("following", follows());
}

/** Take over what the teacher has on screen. */
function apply({ script, options, view, line: at, step }) {
  own ??= { options: state.options, view: { ...state.view } };
  const changed = JSON.stringify([options, view]) !== JSON.stringify([shownOptions, shownView]);
  showAs({ step, script });
  if (changed) {
    state.options = { ...options };
    choose(view);
    [shownOptions, shownView] = [options, view];
    tell("options");
  }
  if (at) editor.reveal(at);
  tell("source-lines", at ? [at] : []);
}

let shownOptions = null;
let shownView = null;
let own = null; // the student's options and view, while they follow

/** Take over the units, steps and machines of a view; what it does not name is as by default. */
function choose({ closed, opened, ...chosen }) { // which panes are open is everybody's own affair
  ({ closed, opened } = state.view);
  for (const name of Object.keys(state.view)) delete state.view[name];
  Object.assign(state.view, { unit: -1, of_graph: -1, ...chosen, closed, opened });
}

/** Show one's own work again. */
function goBack() {
  showOwn();
  if (!own) return;
  state.options = own.options;
  choose(own.view);
  own = shownOptions = null;
  tell("options");
}

function leave() {
  following = false;
  goBack();
  document.body.classList.remove("following");
  announce("You are working on your own now");
  draw();
}

function followAgain() {
  following = true;
  follow(news);
  draw();
}

// The teacher

function startTeacher() {
  for (const event of ["edited", "answered", "text", "lesson-step"]) on(event, present);
  on("source-lines", (lines) => { line = lines[0] ?? 0; present(); });
  beat = setInterval(list, LIST_MS);
  list();
}

function present() {
  if (!presenting || timer) return;
  timer = setTimeout(() => {
    timer = 0;
    if (presenting) sending = send();
  }, PRESENT_MS);
}

async function send() {
  const { closed, opened, ...view } = state.view;
  const steps = Object.fromEntries(Object.entries(view).filter(([, value]) => value !== "" && String(value).length < 400));
  const body = { step: currentStep(), script: editor.text, options: state.options, view: steps, line };
  if (JSON.stringify(body) === sent) return;
  if (await ask(`${address}/presented`, "PUT", body)) sent = JSON.stringify(body);
}

async function togglePresenting() {
  presenting = !presenting;
  sent = "";
  await sending;
  if (presenting) await send();
  else await ask(`${address}/presented`, "DELETE");
  draw();
}

async function end() {
  if (!confirm("End this class for everybody? Its leaderboard will be deleted.")) return;
  presenting = false; // what would be sent now would come too late
  await sending;
  if (await ask(address, "DELETE")) finish();
}

async function list() {
  if (document.hidden) return;
  const answer = await ask(`${address}/students`, "GET");
  if (!answer) return;
  pupils = answer;
  draw();
}

// What is shown

function button(id, text, action, attributes = {}) {
  const made = element("button", { type: "button", class: "small", id, ...attributes }, text);
  made.addEventListener("click", action);
  return made;
}

function draw() {
  const bar = $("#class-bar");
  const parts = ended ? [element("strong", { id: "class-ended" }, ENDED)] : secret ? teacherBar() : studentBar();
  parts.push(button("class-open", `Board${news.board.length ? ` · ${news.board.length}` : ""}`, () => $("#class-room").showModal()));
  const text = parts.map((part) => part.textContent).join("|");
  if (bar.dataset.text !== text) {
    const focused = bar.contains(document.activeElement) ? document.activeElement.id : "";
    bar.replaceChildren(...parts);
    bar.dataset.text = text;
    if (focused) document.getElementById(focused)?.focus();
  }
  drawRoom();
}

function teacherBar() {
  const here = pupils.filter(({ away }) => !away).length;
  return [
    button("class-present", presenting ? "Stop presenting" : "Present", togglePresenting, { "aria-pressed": String(Boolean(presenting)) }),
    button("class-link", "Copy the students’ link", copyLink),
    element("span", { class: "hint", id: "class-count" }, `${here} student${here === 1 ? "" : "s"}`),
    button("class-end", "End the class", end),
  ];
}

function studentBar() {
  const parts = [element("span", { class: "hint", id: "class-seat" }, seat ? `You are ${seat}` : "joining …")];
  if (follows()) parts.push(element("strong", { id: "class-following" }, "Following the teacher"), button("class-leave", "Leave (Esc)", leave));
  else if (news.presented) parts.push(button("class-follow", "Follow the teacher", followAgain));
  return parts;
}

async function copyLink() {
  const link = `${location.origin}${location.pathname}?class=${encodeURIComponent(name)}`;
  try {
    await navigator.clipboard.writeText(link);
    toast(`Copied ${link}`);
  } catch {
    toast(`The link is ${link}`);
  }
}

function table(caption, heads, rows) {
  const cells = (row, tag) => element("tr", {}, ...row.map((cell) => element(tag, {}, String(cell))));
  return element("table", {}, element("caption", {}, caption), element("thead", {}, cells(heads, "th")), element("tbody", {}, ...rows.map((row) => cells(row, "td"))));
}

function drawRoom() {
  const parts = [];
  if (secret) parts.push(table("Students", ["Name", "Step", "Done", "Presence"], pupils.map(({ name: who, step, done, away }) => [who, step, done, away ? "away" : "here"])));
  const rows = news.board.map(({ name: who, step, milliseconds, times_numpy: times }) => [who, step, `${milliseconds.toPrecision(3)} ms`, times ? `${times.toPrecision(3)} ×` : ""]);
  parts.push(rows.length ? table("Leaderboard, measured by the server", ["Name", "Step", "Time", "NumPy"], rows) : element("p", { class: "hint" }, "The leaderboard shows the results of steps that are measured."));
  $("#class-room-body").replaceChildren(...parts);
}
