// Files that lie beside the script: attached by button or by dropping them on the page.
import { $, $$, element, toast } from "./dom.js";
import { editor } from "./editor.js";
import { missingFiles } from "./fixes.js";
import { focusPane } from "./layout.js";
import { isModel } from "./model.js";
import { on, state, tell } from "./state.js";

const LONGEST_NAME = 120;
const MOST = 32 * 1024 * 1024;
/** Larger files, and models, are stored once by the server, and named by their hash from then on. */
const SMALL = 512 * 1024;

export function startFiles() {
  let wanted = ""; // the name that the script calls the next file by
  const choose = (name) => { wanted = name; $("#attach").click(); };
  $("#attach-button").addEventListener("click", () => choose(""));
  on("attach", choose);
  $("#attach").addEventListener("change", ({ target }) => {
    const files = [...target.files];
    take(wanted && files.length === 1 ? [new File(files, wanted)] : files);
    target.value = "";
  });
  let depth = 0;
  const cover = (shown) => { $("#drop").hidden = !shown; };
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragenter", (event) => { if (carries(event)) { depth += 1; cover(true); } });
  document.addEventListener("dragleave", (event) => { if (carries(event)) { depth -= 1; cover(depth > 0); } });
  document.addEventListener("dragover", (event) => { if (carries(event)) event.preventDefault(); });
  document.addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    cover(false);
    take([...event.dataTransfer.files]);
  }, true);
  draw();
  on("edited", showShapes);
  showShapes();
}

let before = null; // the program of the model that was open before this one

/** Compare the model that is open with another one. */
export async function compareModel() {
  if (!(await (await import("./model/compare.js")).compareModels(before))) return;
  before = null;
  draw();
}

let shapes = false; // whether the module is loaded that shows the sizes of what a model's file leaves open

function showShapes() {
  if (shapes || !editor.text.includes(" open in the file")) return;
  shapes = true;
  import("./model/shapes.js");
}

const isLog = ({ name, size }) => /\.(jsonl?|log)$/.test(name) && size <= MOST;

async function take(files) {
  const missing = missingFiles();
  if (files.length === 1 && files[0].name.endsWith(".py") && !missing.includes(files[0].name)) {
    editor.open(await files[0].text());
    return;
  }
  const logs = files.filter((file) => isLog(file) && !missing.includes(file.name));
  if (logs.length) files = [...files.filter((file) => !logs.includes(file)), ...await (await import("./search/log.js")).asLogs(logs)];
  if (files.some(({ name }) => name.length > LONGEST_NAME)) return refuse(`A file name may have at most ${LONGEST_NAME} characters`);
  const small = files.filter((file) => file.size <= SMALL && !isModel(file.name));
  for (const file of files) if (!small.includes(file) && !(await store(file))) return;
  const model = files.find(({ name }) => isModel(name) && !missing.includes(name)); // one that the script asks for stays its file
  if (model) await open(model, files);
  const size = [...state.files.values(), ...small].reduce((sum, file) => sum + file.size, 0);
  if (size > MOST) return refuse("Attached files may total at most 32 MB");
  for (const file of small) state.files.set(file.name, file);
  draw();
  tell("options");
  if (files.some(({ name }) => name === "search.jsonl")) focusPane("search");
}

/** Say why a file is not taken, and leave it said until the script is compiled again. */
function refuse(words) {
  toast(words);
  $(".console").prepend(element("p", { class: "problem error" }, words));
}

/** Put the script of a model in the place of the one before, whose own models go with it. */
async function open(model, files) {
  const { modelScript } = await import("./model/script.js");
  const script = await modelScript(model);
  const last = [...state.uploads.keys()].filter((name) => isModel(name) && !files.some((file) => file.name === name)).at(-1);
  before = last ? { label: last, script: editor.text, files: new Map(state.files), uploads: new Map([...state.uploads].filter(([name]) => !files.some((file) => file.name === name))) } : null;
  for (const name of state.uploads.keys()) if (isModel(name) && !files.some((file) => file.name === name)) state.uploads.delete(name);
  tell("model");
  editor.open(script);
}

/** Let the server keep a file of the workspace; returns whether it does. */
async function store(file) {
  const id = await storeFile(file);
  if (id) state.uploads.set(file.name, id);
  return Boolean(id);
}

/** Let the server keep a file; returns its hash, which is empty if it does not. */
export async function storeFile(file) {
  if (!file.size) {
    refuse(`${file.name} is empty`);
    return "";
  }
  const form = new FormData();
  form.append("file", file);
  toast(`Storing ${file.name} …`);
  const answer = await fetch("/api/uploads", { method: "POST", body: form }).catch(() => null);
  const body = await answer?.json().catch(() => null);
  if (!answer?.ok) {
    refuse(body ? `${file.name}: ${body.error.message}${body.error.expected ? `, expected ${body.error.expected}` : ""}` : "the server is not responding");
    return "";
  }
  toast(`Attached ${file.name}`);
  return body.id;
}

/** Attach a text as a file of the workspace. */
export function attach(name, text) {
  state.files.set(name, new File([text], name));
  draw();
}

/** Leave files out of the workspace. */
export function detach(...names) {
  for (const name of names) state.files.delete(name);
  draw();
}

export { draw as redrawFiles };

function draw() {
  $$(".file, .compares").forEach((old) => old.remove());
  for (const name of [...state.files.keys(), ...state.uploads.keys()]) {
    const remove = element("button", { type: "button", "aria-label": `Remove ${name}` }, "✕");
    remove.addEventListener("click", () => { state.files.delete(name); state.uploads.delete(name); draw(); tell("options"); });
    $("#attached").append(element("span", { class: "file", title: name }, element("span", {}, name), remove));
  }
  if (![...state.uploads.keys()].some(isModel)) return;
  const compare = element("button", { type: "button", class: "small compares", title: "Show what differs between this model and another one" }, `± Compare with ${before ? before.label : "…"}`);
  compare.addEventListener("click", compareModel);
  $("#attached").append(compare);
}
