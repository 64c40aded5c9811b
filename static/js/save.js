// Saves what is shown as files: the whole page in one, the texts of the panes, the script.
import { $, element, readJson, toast } from "./dom.js";
import { editor } from "./editor.js";
import { ladder } from "./ladder.js";
import { LISTINGS, paneOf } from "./panes.js";
import { linkedView, state, workspaceJson } from "./state.js";

export function startSave() {
  $("#share-menu").addEventListener("toggle", offerTexts);
  $("#save-page").addEventListener("click", savePage);
  $("#copy-script").addEventListener("click", copyScript);
}

/** Offer the text of each pane that shows one, at the step that it shows. */
function offerTexts() {
  const shown = LISTINGS.filter((pane) => $(`#body-${pane}`).dataset.listing);
  $("#save-texts").replaceChildren(...shown.map((pane) => {
    const { listing } = $(`#body-${pane}`).dataset;
    return element("a", { class: "button small", href: `/listings/${listing}/file`, download: "" }, paneOf(pane).title);
  }));
}

async function savePage() {
  toast("Making the page …");
  const measurements = ladder.measurements ?? readJson("answer").measurements;
  const body = JSON.stringify({ workspace: await workspaceJson(editor.text), view: linkedView(), measurements });
  const answer = await fetch("/api/export", { method: "POST", headers: { "Content-Type": "application/json" }, body }).catch(() => null);
  if (!answer?.ok) {
    toast((await answer?.json().catch(() => null))?.error.message ?? "the server does not answer");
    return;
  }
  const name = /filename="?([^";]+)/.exec(answer.headers.get("Content-Disposition"))?.[1] ?? "strata.html";
  const link = element("a", { href: URL.createObjectURL(await answer.blob()), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
  toast(`Saved ${name}: it opens without a server or a network`);
}

/** The script, which says before anything else what it was compiled for. */
async function copyScript() {
  const { target, threads } = state.options;
  const prologue = `import os\n\nos.environ.setdefault("TVM_NUM_THREADS", "${threads ?? 1}")  # shown for ${target || "llvm -mcpu=native"}\n\n`;
  try {
    await navigator.clipboard.writeText(prologue + editor.text);
    toast("Copied the script");
  } catch {
    toast("This browser does not let the page copy; /code of the link has the script");
  }
}
