// Why a function takes its time: ranked causes beside the program, each with its lines and what would remove it.
import { $, $$, announce, element } from "../dom.js";
import { editor } from "../editor.js";
import { focusPane } from "../layout.js";
import { apply, written } from "../proposals.js";
import { busyWords, follow, post } from "../server.js";
import { on, state, workspaceJson } from "../state.js";

const HOLDS = 1.5; // a prediction within this factor of what is measured has held
const NOISE = 0.1; // of a time that repeats differ by
let asked = 0;

addEventListener("keydown", (event) => { if (event.key === "Escape" && !event.defaultPrevented && !$("#why").hidden && !$("dialog[open]")) close(); });
on("edited", () => { if (!$("#why").hidden) $("#why").classList.add("stale"); });

export async function open() {
  const panel = $("#why");
  const turn = asked += 1;
  panel.hidden = false;
  panel.classList.remove("stale");
  show(element("p", { class: "hint", role: "status" }, "Trying what could be better …"));
  panel.focus();
  const script = editor.text;
  const answer = await explained(script);
  if (turn !== asked || panel.hidden) return;
  if (answer.problem) return show(element("p", { class: "hint", role: "status" }, answer.problem));
  const causes = answer.causes ?? [];
  const shares = element("p", { class: "hint" }, "Percent are of the function’s time, by the model.");
  const list = element("ol", {}, ...causes.map((cause) => element("li", {}, ...parts(cause, script))));
  const unknown = (answer.unknown ?? []).map((words) => element("p", { class: "hint" }, `Not known: ${words}`));
  show(...(causes.length ? [shares, list] : [element("p", { class: "hint" }, "The model finds nothing that would make this function faster.")]), ...unknown);
  announce(causes.length ? `${causes.length} causes; the first: ${causes[0].words}` : "No causes found");
}

function close() {
  asked += 1;
  $("#why").hidden = true;
  $("#why-button").focus();
}

function show(...content) {
  const shut = element("button", { type: "button", class: "small", "aria-label": "Close" }, "✕");
  shut.addEventListener("click", close);
  const focused = $("#why").contains(document.activeElement);
  $("#why").replaceChildren(element("div", { class: "why-head" }, element("h3", {}, "Why is it this fast?"), shut), ...content);
  if (focused) $("#why").focus(); // what had it is gone
}

async function explained(script) {
  if (state.options.prefix !== undefined) return { problem: "An earlier step is shown: choose the last primitive first." };
  const response = await post("/api/why", { ...(await workspaceJson(script)), unit: Number(state.view.unit ?? -1) });
  const answer = await response.json().catch(() => ({ error: { message: "the server is not responding" } }));
  return response.ok ? answer : { problem: answer.error.message };
}

/** The share, the sentence, the lines and the remedy of a cause. */
function parts({ words, share, source, lines, remedy, gain }, script) {
  const percent = `${Math.round(share * 100)} %`;
  const bar = element("span", { class: "share", title: "Of the time, by the model" }, percent);
  bar.style.setProperty("--share", `${Math.round(share * 100)}%`);
  const out = [bar, element("p", {}, words, " ", element("small", {}, source === "assembly" ? "from the assembly" : "by the model"))];
  for (const line of lines ?? []) {
    const button = element("button", { type: "button", class: "plain", title: "Show it in the loop IR" }, element("code", {}, line));
    button.addEventListener("click", () => point(line));
    out.push(button);
  }
  if (!remedy) return gain ? [...out, element("small", {}, `without it ${times(gain)}; no primitive that was tried removes it`)] : out;
  const said = element("output", {});
  const attempt = element("button", { type: "button", class: "small" }, "Try it");
  attempt.addEventListener("click", () => tried(remedy, gain, script, attempt, said));
  return [...out, element("div", { class: "remedy" }, element("code", {}, remedy.label), ` (${written(remedy.edit).replaceAll("\n", "; ")}): predicted ${times(gain)} `, attempt), said];
}

const times = (factor) => `${Number(factor.toPrecision(3))} × as fast`;

/** Pin a line of the loop IR, which lights what belongs to it. */
function point(line) {
  const found = $$("#body-loops .l").find(({ textContent }) => textContent.trim().endsWith(line));
  focusPane("loops");
  found?.click();
}

/** Write a remedy into the script, measure both, and say whether the prediction held. */
async function tried(remedy, predicted, script, button, said) {
  if (script !== editor.text) {
    said.textContent = "The script has changed since; ask again.";
    return;
  }
  button.disabled = true;
  apply(remedy, script);
  try {
    const before = await measured(script, (words) => { said.textContent = `before: ${words}`; });
    const after = await measured(editor.text, (words) => { said.textContent = `after: ${words}`; });
    const factor = before.seconds / after.seconds;
    const held = Math.max(factor / predicted, predicted / factor) <= HOLDS;
    const disturbed = [before, after].some(({ disturbed: other, spread, seconds }) => other || spread > NOISE * seconds);
    said.textContent = `predicted ${times(predicted)}, measured ${times(factor)}: ${held ? "held" : "did not hold"}`;
    if (disturbed) said.append(" ", element("span", { class: "disturbed" }, "disturbed"));
  } catch (error) {
    said.textContent = `not measured: ${error.message}`;
  }
  announce(said.textContent);
}

/** Measure the kernel that a script builds last, in a process that the script never enters.
 * @param {string} script
 * @param {(words: string) => void} tell
 * @returns {Promise<{seconds: number, spread: number, disturbed: boolean}>} */
async function measured(script, tell) {
  const response = await post("/api/measure", await workspaceJson(script));
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  return new Promise((resolve, reject) => {
    let kernel = null;
    let problem = "";
    follow(answer.events, {
      queued({ place }) { tell(busyWords(place)); },
      progress({ done, total }) { tell(`measuring, ${done} of ${total}`); },
      measured({ measurement }) { if (measurement.kind === "kernel") kernel = measurement; },
      failed({ problem: met }) { problem = met.message; },
      ended({ message }) {
        if (kernel) resolve(kernel);
        else reject(new Error(problem || message || "nothing was measured"));
      },
    });
  });
}
