// What this tab holds: the workspace, the view, and who it is to the server.
import { readJson } from "./dom.js";

/** Random bytes as hexadecimal digits: a name that nobody else has. */
export const randomName = (bytes) => Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The content of a file as base64, and back. */
export async function encode(blob) {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (let start = 0; start < bytes.length; start += 0x8000) text += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return btoa(text);
}
export const decode = (base64) => new Blob([Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))]);

const page = readJson("page-data");

export const state = {
  tab: randomName(12),
  seq: 0,
  options: { ...page.options },
  files: new Map(Object.entries(readJson("page-files")).map(([file, content]) => [file, decode(content)])),
  uploads: new Map(Object.entries(page.uploads)), // name -> hash of a file that the server stores
  view: { unit: -1, of_graph: -1, ...page.view }, // and by pane the chosen step; what is not there is as by default
  link: page.link,
  made: page.made, // what the link was made with
  here: page.here, // what this server compiles with
  compiled: page.compiled,
  asked: "", // the script that was compiled last, or is being compiled
  following: false, // whether it is somebody else who edits it
  sliding: false, // whether it is a slider that edits the script
  replaced: false, // whether the panes show another script, none of which may stay
};

/** Events between modules, and what comes with each. */
const EVENTS = {
  edited: "the script changed",
  busy: "the server has no time yet, and is asked again; comes with the seconds until then",
  sharing: "a link is made: what goes on puts into the workspace what it has so far",
  replaced: "another script takes the place of the whole one before; comes before `edited`",
  model: "the script of a model takes the place of the one before; comes before `edited`",
  attach: "a file that the script does not find is to be chosen; comes with its name",
  options: "the options, the files or the view changed: compile anew",
  answered: "an answer was swapped in; comes with its data",
  swapped: "HTML was swapped in; comes with it, and with its kind: answer, refused, update of a run, or text of a pane",
  mirror: "what another page swapped in is to be swapped in; comes as with `swapped`",
  charted: "measurements were drawn; comes with them",
  unmeasured: "a run ended well, and the script measured nothing",
  text: "a pane shows another listing; comes with the pane's name",
  stepping: "another step of a pane was chosen, and its text is asked for; comes with the pane's name",
  ahead: "a step of a pane may be chosen next; comes with the pane's name and the step's index",
  chunk: "a chunk of a listing arrived; comes with the pane's name",
  drawn: "the drawing of a graph arrived",
  labelled: "the timeline's buttons show what was measured",
  away: "a pane went to a window of its own, or came back",
  shown: "panes were opened, closed or brought forward",
  "source-lines": "the pointer or the cursor is at lines of the script; comes with their numbers",
  "source-pin": "lines of the script are to be pinned; comes with their numbers",
  "source-click": "a line of the script was clicked; comes with its lines' numbers",
  lit: "other lines, or none, are lit; comes with what they link to, as a link pins it, and whether they are pinned",
  light: "what another page lit is to be lit; comes as with `lit`",
  pinned: "lines were pinned, or none any more; comes with the lines of the script",
  played: "the player is at a line of a program; comes with the line's index and the number of lines",
  cursor: "the keyboard moved to a line of a listing; comes with the pane's name and the line's element",
  goto: "a line of the script is to be shown; comes with its number",
  reveal: "the lines that are linked with the pinned one are to be shown",
  "lesson-step": "another step of the lesson is shown, or one is done",
  "lesson-passed": "the checks of a step have passed; comes with its number and with what passed",
  leave: "the visitor goes back to their own work",
  unpin: "nothing is pinned any more",
};
const bus = new EventTarget();

function checked(name) {
  if (!(name in EVENTS)) throw new TypeError(`there is no event ${name}`);
  return name;
}

/** Send an event.
 * @param {keyof typeof EVENTS} name
 * @param {unknown} [detail] */
export const tell = (name, detail) => bus.dispatchEvent(new CustomEvent(checked(name), { detail }));

/** Listen to an event.
 * @param {keyof typeof EVENTS} name
 * @param {(detail: any) => void} listener */
export const on = (name, listener) => bus.addEventListener(checked(name), (event) => listener(event.detail));

/** What a link keeps of the page besides the workspace; modules add what they know. */
const linked = [];
/** @param {() => object} read returns values by the name under which a link keeps them */
export const keepInLinks = (read) => linked.push(read);

/** The view as a link keeps it: the chosen steps, the open panes, and what modules add. */
export function linkedView() {
  const said = Object.entries(state.view).filter(([name, value]) => value !== "" && !(["unit", "of_graph"].includes(name) && value < 0));
  return Object.assign(Object.fromEntries(said), ...linked.map((read) => read()));
}

/** The workspace as the JSON API wants it. */
export async function workspaceJson(script) {
  const files = {};
  for (const [file, blob] of state.files) files[file] = await encode(blob);
  return { script, files, uploads: Object.fromEntries(state.uploads), options: state.options };
}
