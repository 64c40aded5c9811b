// The sizes that the script gives the open dimensions of a model, as lines of the script and as fields above it.
import { $, $$, element } from "../dom.js";
import { editor } from "../editor.js";
import { on } from "../state.js";

const NOTE = /^# In the file: (.*)\. The sizes of what is open are guesses\.$/;
const SHAPE = /^shape = \{(.*)\} {2}# .* open in the file$/;
const INPUT = /("(?:[^"\\]|\\.)*") is \(([^)]*)\)/g;
const GIVEN = /("(?:[^"\\]|\\.)*"): \(([^)]*)\)/g;
const SHOWN = 8; // fields; a model with more open dimensions is edited in the script

const tuple = (dims) => `(${dims.join(", ")}${dims.length === 1 ? "," : ""})`;

/** The lines that give the shapes of inputs.
 * @param {import("./inputs.js").Input[]} inputs
 * @param {(input: import("./inputs.js").Input, index: number) => number} size of an open dimension, at its first place */
export function written(inputs, size) {
  const sizes = new Map();
  for (const input of inputs) {
    input.dims.forEach((dim, index) => { if (typeof dim === "string" && !sizes.has(dim)) sizes.set(dim, size(input, index)); });
  }
  const inFile = inputs.map(({ name, dims }) => `${JSON.stringify(name)} is ${tuple(dims)}`);
  const given = inputs.map(({ name, dims }) => `${JSON.stringify(name)}: ${tuple(dims.map((dim) => sizes.get(dim) ?? dim))}`);
  const names = [...sizes.keys()];
  return [
    `# In the file: ${inFile.join(", ")}. The sizes of what is open are guesses.`,
    `shape = {${given.join(", ")}}  # ${names.join(", ")} ${names.length > 1 ? "are" : "is"} open in the file`,
  ];
}

/** What the script says of open dimensions: the line of their sizes, the inputs in the file, and the sizes by name. */
function read(script) {
  const lines = script.split("\n");
  const at = lines.findIndex((line, index) => SHAPE.test(line) && NOTE.test(lines[index - 1] ?? ""));
  if (at < 0) return null;
  const split = (text) => text.split(",").map((part) => part.trim()).filter(Boolean);
  const given = new Map([...SHAPE.exec(lines[at])[1].matchAll(GIVEN)].map(([, name, dims]) => [name, split(dims)]));
  const inputs = [...NOTE.exec(lines[at - 1])[1].matchAll(INPUT)].map(([, name, dims]) => ({ name: JSON.parse(name), key: name, dims: split(dims).map((dim) => (/^\d+$/.test(dim) ? Number(dim) : dim)) }));
  const sizes = new Map();
  for (const { key, dims } of inputs) {
    dims.forEach((dim, index) => { if (typeof dim === "string" && !sizes.has(dim)) sizes.set(dim, given.get(key)?.[index] ?? ""); });
  }
  return { line: at + 1, inputs, sizes };
}

function draw() {
  const found = read(editor.text);
  const box = $("#shapes");
  box.hidden = !found;
  if (!found) return;
  const names = [...found.sizes.keys()].slice(0, SHOWN);
  if (names.join() !== $$("input", box).map(({ dataset }) => dataset.openDimension).join()) {
    const fields = names.map((name) => element("label", {}, `${name} `, element("input", { type: "number", min: "1", max: "1000000", "data-open-dimension": name })));
    box.replaceChildren("Open in the file; these sizes are guesses: ", ...fields);
  }
  for (const field of $$("input", box)) if (field !== document.activeElement) field.value = found.sizes.get(field.dataset.openDimension);
}

/** Write a size into the script, wherever the file names that dimension. */
function change({ target }) {
  const found = read(editor.text);
  if (!found || !(Number(target.value) >= 1)) return;
  found.sizes.set(target.dataset.openDimension, Math.floor(Number(target.value)));
  const text = written(found.inputs, ({ dims }, index) => found.sizes.get(dims[index]))[1];
  editor.replaceLines({ line: found.line, removed: 1, text });
}

$("#shapes").addEventListener("change", change);
on("edited", draw);
draw();
