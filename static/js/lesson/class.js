// A class: the teacher presents, students follow and leave with Escape, and all see the board.
import { button as buttonOf, swap } from "../bars.js";
import { showWorkspace } from "../beside.js";
import { $, announce, element, toast } from "../dom.js";
import { editor } from "../editor.js";
import { choose, chosenView } from "../live/setting.js";
import { currentStep, lessonName, showAs, showOwn } from "../lesson.js";
import { recall, remember } from "../memory.js";
import { ask as reach, unreached } from "../server.js";
import { on, randomName, state, tell } from "../state.js";

const PRESENT_MS = 300;
const ATTEND_MS = 30_000;
const KNOCK_MS = 15_000; // after which a student who is not let in asks again
const LIST_MS = 2_000;
const ENDED = "This class has ended";
const AGAIN_MS = 3_000; // after which a server that did not answer is asked again

const opened = new URLSearchParams(location.search);
const name = opened.get("class");
const join = opened.get("join") ?? ""; // what a renewed link says
const secret = new URLSearchParams(location.hash.slice(1)).get("teacher"); // a fragment never leaves the browser
const address = `/api/classes/${encodeURIComponent(name)}`;

let news = { presented: null, board: [], students: 0, looks: [] };
let following = true; // a student follows whoever presents, until they leave
let presenting = null; // null until the first news: a teacher who reloads the page goes on presenting
let sent = "";
let timer = 0;
let sending = Promise.resolve(); // what is on its way must not arrive after the end of the presentation
let line = 0;
let pupils = []; // what the teacher's list shows
let admission = { entry: "", waiting: false, per_address: 0, anonymous: false }; // and whom the class lets in
let ended = false;
let source = null;
let beat = 0; // the timer of the list

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

/** Ask the server, and say what went wrong, unless `refused` takes it. */
async function ask(path, method, body, refused) {
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
  if (reached && refused) refused(answer.error);
  else if (reached || before) toast(answer.error.message); // of a server that is away it is said once
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
let seat = ""; // what the class calls them
let chosen = ""; // what they chose to be called
let token = ""; // what stands for them where the teacher asks to look
let began = 0; // the step at which the teacher was let in
let session = null; // what shares the workspace with the teacher, once it was loaded
let refusal = ""; // why they have no seat
let attending = 0; // the timer

function startStudent() {
  student = key();
  attend();
  on("lesson-step", () => attend());
  on("lesson-step", () => { if (began && currentStep() !== began) [began] = [0, session.leave()]; }); // its workspace stays there
  on("lesson-passed", async ({ number, workspace, ladder, predictions }) => {
    if (!ended) await ask(`${address}/results`, "POST", { student, number, workspace, ladder, predictions });
  });
  on("leave", () => { if (follows()) leave(); });
  on("edited", () => { if (follows() && editor.text !== news.presented.script) leave(); });
}

async function attend(called = {}) {
  if (ended) return;
  clearTimeout(attending);
  const answer = await ask(`${address}/students`, "POST", { student, step: currentStep(), join, ...called }, called.name === undefined ? refuse : undefined);
  if (answer) [seat, chosen, token, refusal] = [answer.name, answer.chosen, answer.token, ""];
  clearTimeout(attending); // of another that was asked meanwhile
  attending = setTimeout(attend, seat ? ATTEND_MS : KNOCK_MS);
  draw();
}

/** Choose a name; an empty one gives the made-up name back. */
function rename() {
  const name = prompt("What should the class call you? Your teacher can hide it.", chosen);
  if (name !== null) attend({ name });
}

/** Share the workspace with the teacher, until they hand it back. */
async function letIn() {
  if (follows()) leave();
  session = await import("../live/session.js");
  const link = await session.startTogether("Your teacher has handed the workspace back", seat);
  if (!link) return;
  began = currentStep();
  if (!(await answerLook(link.split("/").pop()))) session.leave();
}

async function answerLook(id) {
  news = { ...news, looks: news.looks.filter((one) => one !== token) };
  draw();
  return ask(`${address}/looks/answers`, "POST", { student, session: id });
}

function refuse({ message, field }) {
  refusal = message;
  if (field) seat = ""; // removed from the class, or never in it
}

const follows = () => following && news.presented !== null && !secret;

function follow(before) {
  if (follows()) apply(news.presented);
  else if (before.presented && !news.presented && following) goBack();
  document.body.classList.toggle("following", follows());
}

/** Take over what the teacher has on screen. */
function apply({ script, options, view, line: at, step }) {
  if (!own) showWorkspace(); // what a teacher presents; on a phone the text of the lesson is one tap away
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
  const body = { step: currentStep(), script: editor.text, options: state.options, view: chosenView(), line };
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
  const [listed, door] = await Promise.all([ask(`${address}/students`, "GET"), ask(`${address}/admission`, "GET")]);
  if (!listed || !door) return;
  pupils = listed;
  admission = door;
  draw();
}

/** Let nobody join with the old link any more; `clear` removes those without a result, too. */
async function renew(clear) {
  const question = clear
    ? "Remove everybody without a result, and make a new link? Whoever is removed needs the new link to come back."
    : "Make a new link? Nobody can join with the old one any more. Everybody who is in the class stays.";
  if (!confirm(question)) return;
  const answer = await ask(`${address}/admission`, "POST", { clear });
  if (!answer) return;
  admission = answer;
  await list();
  await copyLink();
}

async function admitCrowds() {
  const answer = await ask(`${address}/admission/crowds`, "POST");
  if (!answer) return;
  admission = answer;
  toast("They are let in within fifteen seconds");
  draw();
}

// What is shown

const button = (id, text, action, attributes = {}) => buttonOf(text, action, { id, ...attributes });

function draw() {
  const parts = ended ? [element("strong", { id: "class-ended" }, ENDED)] : secret ? teacherBar() : studentBar();
  parts.push(button("class-open", `Board${news.board.length ? ` · ${news.board.length}` : ""}`, () => $("#class-room").showModal()));
  swap($("#class-bar"), parts);
  drawRoom();
}

function teacherBar() {
  const here = pupils.filter(({ away }) => !away).length;
  return [
    button("class-present", presenting ? "Stop presenting" : "Present", togglePresenting, { "aria-pressed": String(Boolean(presenting)) }),
    button("class-link", "Copy the students’ link", copyLink),
    element("span", { class: "hint", id: "class-count" }, `${here} student${here === 1 ? "" : "s"}`),
    ...(admission.waiting ? [element("strong", { id: "class-waiting" }, `Students wait: ${admission.per_address} came from one address`), button("class-admit", "Let them in", admitCrowds)] : []),
    button("class-end", "End the class", end),
  ];
}

function studentBar() {
  const hidden = seat && chosen && seat !== chosen ? `; your teacher hides “${chosen}”` : "";
  const parts = [element("span", { class: "hint", id: "class-seat" }, seat ? `You are ${seat}${hidden}` : refusal ? `Not in the class: ${refusal}` : "joining …")];
  if (seat) parts.push(button("class-name", "Change name", rename));
  if (token && news.looks.includes(token)) parts.push(element("strong", { id: "class-look", role: "status" }, "Your teacher asks to look into your workspace"), button("class-let-in", "Let them in", letIn), button("class-keep-out", "Not now", () => answerLook("")));
  if (follows()) parts.push(element("strong", { id: "class-following" }, "Following the teacher"), button("class-leave", "Leave (Esc)", leave));
  else if (news.presented) parts.push(button("class-follow", "Follow the teacher", followAgain));
  return parts;
}

function linkTo(page) {
  const renewed = admission.entry && `&join=${encodeURIComponent(admission.entry)}`;
  return `${location.origin}${location.pathname}${page}?class=${encodeURIComponent(name)}${renewed}`;
}

async function copyLink() {
  const link = linkTo("");
  try {
    await navigator.clipboard.writeText(link);
    toast(`Copied ${link}`);
  } catch {
    toast(`The link is ${link}`);
  }
}

function table(caption, heads, rows) {
  const cells = (row, tag) => element("tr", {}, ...row.map((cell) => element(tag, {}, cell instanceof Node ? cell : String(cell))));
  return element("table", {}, element("caption", {}, caption), element("thead", {}, cells(heads, "th")), element("tbody", {}, ...rows.map((row) => cells(row, "td"))));
}

/** A time, which is rough where others used the machine. */
const timed = (milliseconds, disturbed) => element("span", {}, `${milliseconds.toPrecision(3)} ms `, ...(disturbed ? [element("span", { class: "busy-mark" }, "! machine busy")] : []));

function drawRoom() {
  const parts = [];
  if (secret) parts.push(students(), door());
  const rows = news.board.map(({ name: who, step, milliseconds, times_numpy: times, disturbed }) => [who, step, timed(milliseconds, disturbed), times ? `${times.toPrecision(3)} ×` : ""]);
  parts.push(rows.length ? table("Leaderboard, measured by the server", ["Name", "Step", "Time", "NumPy"], rows) : element("p", { class: "hint" }, "The leaderboard shows the results of steps that are measured."));
  swap($("#class-room-body"), parts);
}

function students() {
  const rows = pupils.map((pupil) => [called(pupil), pupil.step, pupil.done, pupil.away ? "away" : "here", look(pupil)]);
  const words = admission.anonymous ? "Show the names that students chose" : "Hide the names that students chose";
  const board = element("a", { class: "button small", id: "class-board", href: linkTo("/board"), target: "_blank" }, "Board page for a projector");
  const actions = element("p", { class: "class-door" }, board, button("class-csv", "Results as CSV", saveResults), button("class-names", words, () => hide("", !admission.anonymous)));
  return element("section", {}, actions, table("Students", ["Name", "Step", "Done", "Presence", "Workspace"], rows));
}

/** A student's name, with that which the server gave them where they chose another. */
function called({ name: who, given, chosen: own, hidden }) {
  const cell = element("span", {}, element("bdi", {}, who));
  if (!own) return cell;
  cell.append(" ", element("small", { class: "hint" }, who === own ? given : `chose “${own}”`), " ");
  if (!admission.anonymous) cell.append(button(`class-hide-${given.replace(" ", "-")}`, hidden ? "Show" : "Hide", () => hide(given, !hidden), { "aria-label": `${hidden ? "Show" : "Hide"} the name ${own}` }));
  return cell;
}

/** What became of the wish to look into a student's workspace. */
function look({ given, name: who, look: how }) {
  const id = given.replace(" ", "-");
  const wish = (words, asks) => button(`class-look-${id}`, words, () => change("looks", { given, ask: asks }), { "aria-label": `${words}: ${who}` });
  if (!how) return wish("Ask to look", true);
  if (how === "asked") return element("span", {}, "asked ", wish("Withdraw", false));
  if (how === "declined") return element("span", {}, "not now ", wish("Ask again", true));
  return element("span", {}, element("a", { id: `class-open-${id}`, href: `/live/${how}#teacher`, target: "_blank" }, "Open"), " ", wish("Done", false));
}

const hide = (given, hidden) => change("names", { given, hidden });

async function change(path, body) {
  await ask(`${address}/${path}`, "POST", body);
  await list();
}

async function saveResults() {
  const response = await reach(`${address}/results.csv`, { headers: { "X-Class-Secret": secret } });
  if (!response.ok) return toast((await response.json()).error.message);
  const link = element("a", { href: URL.createObjectURL(await response.blob()), download: `${lessonName}-results.csv` });
  link.click();
  return URL.revokeObjectURL(link.href);
}

/** Whom the class lets in, and what helps when strangers have the link. */
function door() {
  const words = "If people you do not know join, make a new link: the old one then admits nobody. You can remove everybody without a result at the same time.";
  const buttons = element("p", { class: "class-door" }, button("class-renew", "New link", () => renew(false)), button("class-clear", "New link, and remove those without a result", () => renew(true)));
  return element("section", {}, element("p", { class: "hint" }, words), buttons);
}
