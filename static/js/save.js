// Saves what is shown as files: the whole page in one, the texts of the panes, what the script builds, the script.
import { $, $$, element, readJson, toast } from "./dom.js";
import { editor } from "./editor.js";
import { ladder } from "./ladder.js";
import { LISTINGS, paneOf } from "./panes.js";
import { ask, post, unreached } from "./server.js";
import { linkedView, state, workspaceJson } from "./state.js";

/** The kinds of files that are made on request: form, title, hint, the pane that offers it, and whether models have it. */
const KINDS = readJson("page-data").files;
const WITHOUT_MACHINE_CODE = ["tvmscript"]; // of a function whose kernels run on a device

export function startSave() {
  $("#share-menu").addEventListener("toggle", offerAll);
  $("#save-page").addEventListener("click", savePage);
  $("#copy-script").addEventListener("click", copyScript);
  for (const button of $$("[data-save]")) button.addEventListener("click", () => offerOf(button));
  $("#save-menu").addEventListener("click", ({ target }) => { if (target.closest("button, a")) $("#save-menu").hidePopover(); });
}

/** Offer the text of each pane that shows one, at the step that it shows, and every file that can be made. */
function offerAll() {
  const shown = LISTINGS.filter((pane) => $(`#body-${pane}`).dataset.listing);
  $("#save-texts").replaceChildren(...shown.map((pane) => textLink(pane, paneOf(pane).title)));
  const models = $("#strip .group.graph") ? KINDS.filter((kind) => kind.of_models) : [];
  $("#save-limit").hidden = !models.length;
  $("#save-built").replaceChildren(...models.map((kind) => fileButton(kind, true)), ...kinds().map((kind) => fileButton(kind)));
}

/** Offer the text of one pane, and the files that belong to it, beside the button that asks for them. */
function offerOf(button) {
  const pane = button.dataset.save;
  const own = kinds().filter((kind) => kind.pane === (paneOf(pane).copy_of || pane));
  const text = $(`#body-${pane}`).dataset.listing ? [copyButton(pane), textLink(pane, "This text")] : [];
  const files = [...text, ...own.map((kind) => fileButton(kind))];
  const menu = $("#save-menu");
  menu.replaceChildren(...(files.length ? files : [element("p", { class: "hint" }, "There is nothing to save yet.")]));
  const { right, bottom } = button.getBoundingClientRect();
  menu.style.top = `${bottom + 4}px`;
  menu.style.right = `${Math.max(4, innerWidth - right)}px`;
}

/** What can be made of the function that is shown. */
function kinds() {
  if (!LISTINGS.some((pane) => paneOf(pane).level === "code" && $(`#body-${pane}`).dataset.listing)) return [];
  const onDevice = readJson("answer").machine === "device";
  return KINDS.filter(({ form, of_kernels: ofKernels }) => (onDevice ? ofKernels || WITHOUT_MACHINE_CODE.includes(form) : !ofKernels));
}

function textLink(pane, title) {
  return element("a", { class: "button small", href: `/listings/${$(`#body-${pane}`).dataset.listing}/file`, download: "" }, title);
}

function copyButton(pane) {
  const button = element("button", { type: "button", class: "small", id: "copy-text" }, "Copy the text");
  button.addEventListener("click", () => copyText(pane));
  return button;
}

/** Copy all lines of a pane's text, those that have not been fetched too. */
async function copyText(pane) {
  const answer = await ask(`/listings/${$(`#body-${pane}`).dataset.listing}/file`);
  if (unreached(answer)) return toast((await answer.json()).error.message);
  if (!answer.ok) return toast("This text has expired; compile again to copy it");
  return copy(await answer.text(), `Copied ${paneOf(pane).title}`, "This browser does not allow the page to copy; save the text instead");
}

async function copy(text, done, refused) {
  try {
    await navigator.clipboard.writeText(text);
    toast(done);
  } catch {
    toast(refused);
  }
}

function fileButton(kind, model = false) {
  const button = element("button", { type: "button", class: "small", "data-form": kind.form, title: kind.hint }, model ? `Model: ${kind.title.toLowerCase()}` : kind.title);
  button.addEventListener("click", () => saveFile(kind, model));
  return button;
}

async function saveFile({ form, title }, model) {
  toast(`Building the file: ${title} …`);
  const file = { form, model, unit: model ? state.view.of_graph : state.view.unit };
  const name = await saved("/api/files", { ...await workspaceJson(editor.text), file });
  if (name) toast(`Saved ${name}`);
}

async function savePage() {
  toast("Building the page …");
  const measurements = ladder.measurements ?? readJson("answer").measurements;
  const name = await saved("/api/export", { workspace: await workspaceJson(editor.text), view: linkedView(), measurements });
  if (name) toast(`Saved ${name}: it opens without a server or a network`);
}

/** Save what the server makes of a request; returns the name of the file, or null where there is none, and says why. */
async function saved(address, request) {
  const answer = await post(address, request);
  if (!answer.ok) {
    toast((await answer.json()).error.message);
    return null;
  }
  const name = /filename="?([^";]+)/.exec(answer.headers.get("Content-Disposition"))?.[1] ?? "strata";
  const link = element("a", { href: URL.createObjectURL(await answer.blob()), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
  return name;
}

/** The script, which says before anything else what it was compiled for. */
async function copyScript() {
  const { target, threads } = state.options;
  const prologue = `import os\n\nos.environ.setdefault("TVM_NUM_THREADS", "${threads ?? 1}")  # shown for ${target || "llvm -mcpu=native"}\n\n`;
  await copy(prologue + editor.text, "Copied the script", "This browser does not allow the page to copy; /code of the link has the script");
}
