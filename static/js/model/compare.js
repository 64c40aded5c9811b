// Two models in one script, a cell for each: asks for the other one, writes the script, chooses what the panes compare.
import { $, $$, element, toast } from "../dom.js";
import { editor } from "../editor.js";
import { redrawFiles, storeFile } from "../files.js";
import { setOpen } from "../layout.js";
import { isModel } from "../model.js";
import { ask } from "../server.js";
import { decode, on, state, tell } from "../state.js";
import { modelScript } from "./script.js";

/** @typedef {{label: string, script: string, files: Map<string, Blob>, uploads: Map<string, string>}} Program */

const PANE = "changes";
const HEADING = /^# ?%%.*\n/;
let expected = null; // the script that is to be answered, the line where its second program begins, which graph of that was shown

/** Ask which model the present one is to be compared with, and compare them; returns whether one was chosen.
 * @param {Program | null} before the one that was open before */
export async function compareModels(before) {
  const other = await askForModel(before);
  if (other) compareWith(other);
  return Boolean(other);
}

/** Put both programs into one script, the other one first.
 * @param {Program} other */
export function compareWith(other) {
  const mine = programHere();
  const label = other.label === mine.label ? `${other.label}, before` : other.label;
  const files = [...state.files.keys(), ...state.uploads.keys()];
  let { script } = other;
  for (const [kind, here] of [["files", state.files], ["uploads", state.uploads]]) {
    for (const [name, content] of other[kind]) {
      const same = state.uploads.has(name) && state.uploads.get(name) === content;
      const own = same || !files.includes(name) ? name : freeName(name, [...files, ...other.files.keys(), ...other.uploads.keys()]);
      if (own !== name) script = script.replaceAll(JSON.stringify(name), JSON.stringify(own)).replaceAll(`'${name}'`, `'${own}'`);
      here.set(own, content);
    }
  }
  const title = `"""${`${mine.label} compared with ${label}`.replaceAll('"', "'").replaceAll("\\", "/")}"""\n`;
  const first = `${inCell(script, label, title)}\n`;
  const both = `${first}${inCell(mine.script, mine.label)}`;
  expected = { script: both, labels: [label, mine.label], line: first.split("\n").length, shown: state.view.of_graph };
  redrawFiles();
  editor.open(both);
}

/** A program as a cell, or as the cells that it has. */
function inCell(script, label, title = "") {
  const [heading = `# %% ${label}\n`] = HEADING.exec(script) ?? [];
  return `${heading}${title}${script.replace(HEADING, "").trimEnd()}\n`;
}

function freeName(name, taken) {
  for (let number = 2; ; number += 1) {
    const made = name.replace(/(\.[^.]*)?$/, `-${number}$1`);
    if (!taken.includes(made)) return made;
  }
}

/** The program of the page, called by its graph where it has several cells, else by its model or its title. */
function programHere() {
  const shown = HEADING.test(editor.text) && $("#of-graph")?.selectedOptions[0].text;
  const label = shown || ([...state.uploads.keys()].findLast(isModel) ?? ($("#title")?.textContent || "script.py"));
  return { label, script: editor.text };
}

on("answered", () => {
  if (!expected || state.asked !== expected.script) return; // an answer to what was there before
  const { labels, line, shown } = expected;
  expected = null;
  const [others, own] = [false, true].map((mine) => $$("#pane-console .cell").filter((cell) => Number($("[data-goto]", cell).dataset.goto) >= line === mine)
    .flatMap((cell) => $$("[data-shows=of-graph]", cell).map(({ dataset }) => Number(dataset.at))));
  const [other, at] = [others.at(-1), own.at(shown) ?? own.at(-1)];
  const missing = labels.filter((_, index) => [other, at][index] === undefined);
  if (missing.length) {
    toast(`There is nothing to compare: ${missing.join(" and ")} made no graph, see the console`);
    return;
  }
  const graphs = $("#of-graph").options;
  state.view.of_graph = at;
  state.view.graph_against = `model:${other}`;
  state.view.graph = graphs[at].dataset.formats === graphs[other].dataset.formats ? graphs[at].dataset.first : "graph:Graph:0";
  setOpen(PANE, true);
  tell("options");
});

// The dialog

/** @returns {Promise<Program | null>} null where it was given up, or could not be read */
function askForModel(before) {
  $("#model-dialog")?.remove();
  const file = element("input", { type: "file", id: "model-file", "aria-label": "A model’s file" });
  const input = element("input", { id: "model-link", list: "model-examples", autocomplete: "off", spellcheck: "false", placeholder: "/z/… or an example" });
  const examples = element("datalist", { id: "model-examples" }, ...$$("#gallery a[href*='example=']").map((link) => element("option", { value: new URL(link.href).searchParams.get("example") })));
  const opened = before && element("p", {}, element("button", { type: "button", class: "primary", id: "model-before" }, `Compare with ${before.label}`), " which was open before");
  const dialog = element(
    "dialog", { class: "sheet narrow", id: "model-dialog", "aria-labelledby": "model-dialog-title" },
    element("header", {}, element("h2", { id: "model-dialog-title" }, "Compare with another model"), element("form", { method: "dialog" }, element("button", { class: "icon", "aria-label": "Close" }, "✕"))),
    element(
      "form", { class: "link-form" }, ...(opened ? [opened] : []),
      element("label", { for: "model-file" }, "A model’s file"), element("div", {}, file),
      element("label", { for: "model-link" }, "Or a link, or the name of an example"), element("div", {}, input, examples, " ", element("button", { class: "primary" }, "Compare")),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    const end = (program) => { resolve(program); dialog.close(); };
    dialog.addEventListener("close", () => { dialog.remove(); resolve(null); });
    file.addEventListener("change", async () => { if (file.files.length) end(await programOfFile(file.files[0])); });
    $("#model-before", dialog)?.addEventListener("click", () => end(before));
    $(".link-form", dialog).addEventListener("submit", async (event) => {
      event.preventDefault();
      if (input.value.trim()) end(await programAt(input.value.trim()));
    });
  });
}

async function programOfFile(file) {
  if (!isModel(file.name)) {
    toast(`${file.name} is no model: expected ONNX, PyTorch, TensorFlow, TensorFlow Lite or Keras`);
    return null;
  }
  const id = await storeFile(file);
  return id && { label: file.name, script: await modelScript(file), files: new Map(), uploads: new Map([[file.name, id]]) };
}

/** The program of a link, by its id or address, or else of an example. */
async function programAt(place) {
  const example = /[?&]example=([\w-]+)/.exec(place)?.[1] ?? $$("#model-examples option").find(({ value }) => value === place)?.value;
  if (example) return programOfExample(example);
  const id = place.replace(/[?#].*$/, "").replace(/\/+$/, "").replace(/^.*\//, "");
  const answer = /^[\w-]+$/.test(id) && (await ask(`/api/links/${id}`));
  if (!answer?.ok) {
    toast(`There is no link or example ${place}`);
    return null;
  }
  const { state: { workspace } } = await answer.json();
  const files = new Map(Object.entries(workspace.files ?? {}).map(([name, content]) => [name, decode(content)]));
  const uploads = new Map(Object.entries(workspace.uploads ?? {}));
  return { label: [...uploads.keys(), ...files.keys()].findLast(isModel) ?? `/z/${id}`, script: workspace.script, files, uploads };
}

async function programOfExample(name) {
  const answer = await ask(`/?example=${name}`);
  if (!answer.ok) return null;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return { label: name, script: page.querySelector("#script").value, files: new Map(), uploads: new Map() };
}
