// A lesson beside the workspace: its steps, their checks, and what this browser remembers of it.
import { startBeside } from "./beside.js";
import { $, $$, announce, readJson, toast } from "./dom.js";
import { editor } from "./editor.js";
import { measure } from "./ladder.js";
import { keepProgress, readProgress } from "./lesson-progress.js";
import { post } from "./server.js";
import { on, tell, workspaceJson } from "./state.js";
import { typedNumber } from "./typed-number.js";

const REVISION_MS = 1000;
const OWN_WORK = "[data-lesson-step], [data-take-answer], .lesson-foot button"; // whoever uses it follows nobody any more
const TRIES = 3; // measurements of a busy machine before its figures are left unjudged
const AGAIN = "The machine is too busy to judge this: measuring again …";
const PAUSE_MS = 3000; // before the next of them
const MEASURERS = { ladder: "/api/ladders", kernel: "/api/measure" };

const lesson = $("#lesson") && readJson("lesson-data"); // {name, revision, own, steps}
let progress;
let following = false; // whether what is shown is somebody else's
let leaving = false; // whether the next press leaves a lesson that is not done
let shown = 1; // the step whose text is shown

export const inLesson = Boolean(lesson);
export const lessonName = lesson?.name;
export const currentStep = () => progress.step;

export function startLesson() {
  if (!lesson) return;
  progress = readProgress(lesson.name);
  progress.step = Math.min(Math.max(progress.step, 1), lesson.steps.length);
  $("#lesson").addEventListener("click", clicked);
  $("#lesson").addEventListener("keydown", ({ key, target }) => {
    if (key === "Enter" && target.matches("[data-prediction]")) $("#lesson-check").click(); // which does nothing while it checks
  });
  on("edited", () => {
    if (following) return;
    progress.scripts[progress.step] = editor.text;
    save();
    forgetVerdicts();
  });
  startBeside($("#lesson"));
  open(progress.step);
  if (lesson.own) watching = setInterval(watch, REVISION_MS);
}

/** Show what somebody else has on the screen; one's own step and script stay as they were.
 * @param {{step: number, script: string}} theirs */
export function showAs(theirs) {
  following = true;
  showText(Math.min(theirs.step, lesson.steps.length));
  mark();
  if (theirs.script !== editor.text) editor.text = theirs.script;
}

/** Go back to one's own step and script. */
export function showOwn() {
  open(progress.step);
}

const step = () => lesson.steps[progress.step - 1];
const article = () => $(`[data-step-text="${progress.step}"]`);
const save = () => keepProgress(lesson.name, progress);

function clicked({ target }) {
  const from = shown; // the step that Back and Next go from, also when it is the one that a teacher shows
  if (following && target.closest(OWN_WORK)) tell("leave");
  const chosen = target.closest("[data-lesson-step]");
  if (chosen) open(Number(chosen.dataset.lessonStep));
  if (target.id === "lesson-previous") open(from - 1);
  if (target.id === "lesson-next") next(from);
  if (target.id === "lesson-check") check();
  if (target.id === "lesson-reset") editor.text = step().start;
  if (target.matches("[data-take-answer]")) editor.text = step().answer;
}

/** Show a step, with the script that it was left with, else the one that it begins with. */
function open(number) {
  const before = step();
  following = false;
  progress.step = number;
  showText(number);
  const own = progress.scripts[number] ?? (step().fresh || before === step() ? step().start : editor.text);
  if (own !== editor.text) editor.text = own;
  progress.scripts[number] = own;
  $("#lesson-body").scrollTop = 0;
  forgetVerdicts();
  mark();
  save();
  tell("lesson-step");
}

function showText(number) {
  shown = number;
  leaving = false;
  for (const text of $$("[data-step-text]")) text.hidden = Number(text.dataset.stepText) !== number;
}

/** Go to the step after one; a step without checks is done when its reader goes on from it. */
function next(from) {
  if (from === progress.step && !step().checks) pass();
  if (from < lesson.steps.length) return open(from + 1);
  const left = lesson.steps.map((_, index) => index + 1).filter((number) => !progress.done.includes(number));
  if (left.length && !leaving) {
    leaving = true;
    mark();
    return say(`Not done yet: step ${left.join(", ")}. Leave the lesson all the same, or go back to it by its number.`);
  }
  return location.assign(left.length ? "/learn" : `/learn?done=${encodeURIComponent(lesson.name)}`);
}

function pass() {
  progress.done = [...new Set([...progress.done, progress.step])];
  save();
  mark();
  tell("lesson-step");
}

/** The buttons say which step is shown and what is done. */
function mark() {
  for (const button of $$("[data-lesson-step]")) {
    const number = Number(button.dataset.lessonStep);
    if (number === shown) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
    button.classList.toggle("done", progress.done.includes(number));
  }
  const checked = step().checks > 0;
  const ready = !checked || progress.done.includes(progress.step);
  $("#lesson-previous").disabled = shown === 1;
  $("#lesson-check").hidden = !checked;
  $("#lesson-check").textContent = step().measuring ? "Measure" : "Check";
  $("#lesson-check").classList.toggle("primary", !ready);
  $("#lesson-next").classList.toggle("primary", ready);
  $("#lesson-next").textContent = shown < lesson.steps.length ? "Next" : leaving ? "Leave" : "Finish";
}

// Checking

async function check() {
  forgetVerdicts();
  const unread = typed().find(({ value }) => typedNumber(value) === null && (value.trim() || step().measuring));
  if (unread) {
    unread.focus();
    return say(unread.value.trim() ? `“${unread.value.trim()}” is not a number.` : "Type a number first, then it is measured.");
  }
  const button = $("#lesson-check");
  button.disabled = true;
  try {
    await judge(progress.step, await workspaceJson(editor.text));
  } finally {
    button.disabled = false;
  }
  return undefined;
}

async function judge(number, workspace, left = TRIES) {
  const { measuring } = step();
  say(left < TRIES ? AGAIN : measuring ? "Measuring …" : "Checking …");
  const ladder = measuring ? await measure(MEASURERS[measuring], workspace) : "";
  if (ladder === null) return say("It could not be measured; the Benchmark pane says why.");
  const response = await post(`/api/lessons/${lesson.name}/steps/${number}/check`, { workspace, ladder, predictions: predictions() });
  const answer = await response.json();
  if (!response.ok) return say(`It could not be checked: ${answer.error.message}.`);
  if (number === progress.step) show(answer);
  if (isUnsure(answer)) return judgeAgain(number, workspace, left - 1);
  if (answer.passed) tell("lesson-passed", { number, workspace, ladder, predictions: predictions() });
  return undefined;
}

/** Whether nothing failed but by times that were measured while others used the machine. */
function isUnsure({ verdicts }) {
  const failed = verdicts.filter(({ passed }) => !passed);
  return failed.length > 0 && failed.every(({ unsure }) => unsure);
}

/** Measure again, unless the student has gone on meanwhile. */
async function judgeAgain(number, workspace, left) {
  if (!left) return undefined;
  say(AGAIN);
  await new Promise((done) => { setTimeout(done, PAUSE_MS); });
  return number === progress.step && workspace.script === editor.text ? judge(number, workspace, left) : undefined;
}

/** The fields of the step that numbers are typed into. */
const typed = () => $$("[data-prediction]", article());

function predictions() {
  const numbers = typed().map(({ dataset, value }) => [dataset.prediction, typedNumber(value)]);
  return Object.fromEntries(numbers.filter(([, value]) => value !== null));
}

function show({ passed, verdicts }) {
  $$(".checks li", article()).forEach((item, index) => {
    item.className = verdicts[index].passed ? "passed" : verdicts[index].unsure ? "unsure" : "failed";
    $("small", item).textContent = verdicts[index].detail;
  });
  if (passed) pass();
  $("#lesson-verdict").scrollIntoView({ block: "nearest" });
  const wrong = verdicts.find((verdict) => !verdict.passed && !verdict.unsure);
  if (!passed && !wrong) {
    say("The machine is too busy to judge this. Measure again when it is quieter: nothing is wrong with your answer so far.");
    return announce($("#lesson-verdict").textContent);
  }
  say(passed ? "Done. Go on when you like." : "Not yet.", passed);
  return announce(passed ? "This step is done" : `Not yet: ${wrong.words}, ${wrong.detail}`);
}

function say(text, passed = false) {
  $("#lesson-verdict").textContent = text;
  $("#lesson-verdict").classList.toggle("passed", passed);
}

function forgetVerdicts() {
  say("");
  for (const item of $$(".checks li", article())) {
    item.className = "";
    $("small", item).textContent = "";
  }
}

let watching = 0;
let missed = 0; // how often its file was not there: once it may be about to be written

/** Load the page anew when its author saved the lesson; what is wrong with the file stands above the text. */
async function watch() {
  if (document.hidden) return;
  const response = await fetch(`/api/lessons/${lesson.name}/revision`).catch(() => null);
  missed = response?.status === 404 ? missed + 1 : 0;
  if (missed > 1) {
    clearInterval(watching);
    $("#lesson-problem").hidden = false;
    $("#lesson-problem").textContent = "The file of this lesson is gone; the page shows it as it was. Reload the page once it is back.";
  }
  if (!response?.ok) return;
  const { revision, errors } = await response.json();
  if (revision !== lesson.revision) {
    toast("The lesson has changed");
    location.reload();
  }
  $("#lesson-problem").hidden = !errors.length;
  $("#lesson-problem").textContent = errors.join(" ");
}
