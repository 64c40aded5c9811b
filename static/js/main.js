// Starts the explorer, once everything before it has been read.
import { startAssembly } from "./assembly.js";
import { startCompiling } from "./compile.js";
import { startConformance } from "./conformance.js";
import { startConsole } from "./console.js";
import { startDevice } from "./device.js";
import { startDocking } from "./dock-drag.js";
import { $, ownWindow } from "./dom.js";
import { lastDrafts, startDraft } from "./draft.js";
import { editor } from "./editor.js";
import { startFiles } from "./files.js";
import { startFind } from "./find.js";
import { startFlow } from "./flow.js";
import { startForks } from "./forks.js";
import { startGallery } from "./gallery.js";
import { startGraphCompare } from "./graph-compare.js";
import { startGraph } from "./graph.js";
import { startIntro } from "./intro.js";
import { describeOptions, startKeys } from "./keys.js";
import { ladder, startLadder } from "./ladder.js";
import { showAlone, startLayout } from "./layout.js";
import { inLesson, startLesson } from "./lesson.js";
import { startLevels } from "./levels.js";
import { startLinking } from "./linking.js";
import { startListings } from "./listings.js";
import { startNodePanel } from "./node-panel.js";
import { startPlayer } from "./player.js";
import { startProposalMenu } from "./proposal-menu.js";
import { startRemade } from "./remade.js";
import { startSave } from "./save.js";
import { startScheduling } from "./schedule-drag.js";
import { startSearch } from "./search.js";
import { startShare } from "./share.js";
import { on } from "./state.js";
import { startSteps } from "./steps.js";
import { startTextSize } from "./text-size.js";
import { startTips } from "./tips.js";
import { startWarp } from "./warp.js";
import { startWebGPU } from "./webgpu.js";

// A fragment that shows the same content as before stays as it is, scrolled where it was; one without its content does not.
Idiomorph.defaults.callbacks.beforeNodeMorphed = ({ dataset: before }, { dataset: after }) =>
  !(before?.key && before.key === after?.key && !("omitted" in before));

// Attributes that the page's scripts set, such as what a visitor opened, survive an answer, and so does a typed number.
const OURS = { details: ["open"], ".pane": ["class", "style", "role", "aria-labelledby"], ".heading": ["aria-pressed"] };
Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) =>
  !Object.entries(OURS).some(([selector, names]) => names.includes(name) && node.matches(selector)) && !(name === "value" && node.type === "number" && node.value !== node.defaultValue);

document.addEventListener("htmx:oobBeforeSwap", (event) => {
  if (event.detail.target.id === "pane-bench" && ladder.shown) event.detail.shouldSwap = false;
});

// A request that ends as the page does is no error.
let leaving = false;
addEventListener("beforeunload", () => { leaving = true; });
document.addEventListener("htmx:beforeRequest", ({ detail: { xhr } }) => {
  leaving = false;
  const { onabort } = xhr;
  xhr.onabort = () => { if (!leaving) onabort(); };
});

on("goto", (line) => editor.goTo(line));
on("options", describeOptions);
on("answered", describeOptions);
on("edited", retitle);

/** The title is the first line of the script's docstring. */
function retitle() {
  if (inLesson) return;
  const docstring = /^\s*(?:#[^\n]*\n\s*)*(?:"""|''')\s*([^\n"']+)/.exec(editor.text);
  const title = docstring ? docstring[1].trim() : "script.py";
  $("#title").textContent = title;
  document.title = docstring ? `${title} · Strata` : "Strata";
}

/** What was typed at this address before, in any tab, is one click away, and Undo reverts it. */
function offerDrafts() {
  const drafts = lastDrafts().filter((draft) => draft !== editor.text);
  const button = $("#restore");
  if (!drafts.length || document.body.classList.contains("reading")) return;
  button.hidden = false;
  on("edited", () => { button.hidden = true; });
  button.addEventListener("click", () => {
    editor.text = drafts.shift();
    button.textContent = "Restore an earlier edit";
    button.hidden = !drafts.length;
    editor.focus();
  });
}

startDraft();
startIntro(); // first: the panes below it have the room that it leaves
startLayout();
startDocking();
startLinking();
startListings();
startFind();
startTextSize();
startSteps();
startAssembly();
startDevice();
startWarp();
startTips();
startLadder();
startSearch();
startGraph();
startGraphCompare();
startFlow();
startNodePanel();
startLevels();
startPlayer();
startProposalMenu();
startScheduling();
startWebGPU();
$("#why-button").addEventListener("click", async () => (await import("./why/panel.js")).open());
startConsole();
startConformance();
startFiles();
startForks();
startShare();
startGallery();
startSave();
startRemade();
startKeys();
startCompiling();
retitle();
startLesson();
if ($("#challenge")) (await import("./challenge/panel.js")).startChallenge();
if (inLesson) (await import("./lesson/class.js")).startClass();
const session = $("#live-bar")?.dataset.session;
if (session) (await import("./live/session.js")).join(session);
else offerDrafts();
if (ownWindow) (await import("./popout/window.js")).start();
if (document.body.classList.contains("embed")) showAlone(new URLSearchParams(location.search).get("pane"));
document.documentElement.dataset.ready = "true";
