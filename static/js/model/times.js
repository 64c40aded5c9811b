// Times the kernels of two compared models in turns, and writes them into the table of what differs.
import { $, $$, element } from "../dom.js";
import { editor } from "../editor.js";
import { busyWords, follow, post } from "../server.js";
import { workspaceJson } from "../state.js";

let running = false;

/** @param {HTMLElement} button */
export async function timeKernels(button) {
  if (running) return;
  running = true;
  const say = (text) => { const told = $("#kernel-times"); if (told) told.textContent = text; };
  say("waiting for its turn …");
  const end = (problem) => { running = false; if (problem) say(problem); };
  const response = await post("/api/model-times", { ...await workspaceJson(editor.text), models: JSON.parse(button.dataset.models) });
  const answer = await response.json();
  if (!response.ok) {
    end(answer.error.message);
    return;
  }
  let told = "";
  follow(answer.events, {
    queued({ place }) { say(busyWords(place)); },
    progress({ done, total, label }) { say(`${label}: ${done} of ${total}`); },
    models(measured) { fill(measured); say(measuredWords(measured)); told = " "; },
    failed({ label, problem }) { told = `${label}: ${problem.message}`; say(told); },
    ended({ status, message }) { end(told ? "" : status === "ok" ? "nothing was measured" : message); },
  });
}

const measuredWords = ({ rounds, disturbed }) => `Measured in ${rounds} alternating rounds, on this server, by a process that the script never enters${disturbed ? "; ! others used the machine" : ""}.`;

/** Write times into the rows of kernels, and their sums into the first. */
function fill({ models: [before, after] }) {
  const table = $("#changes table.kernels");
  if (!table) return;
  const sum = (times) => Object.values(times).reduce((all, seconds) => all + seconds, 0);
  $$(".timed", table).forEach((cell) => { cell.hidden = false; });
  for (const row of $$("tbody tr", table)) {
    const { old, now } = row.dataset;
    const times = row.classList.contains("total") ? [sum(before), sum(after)] : [before[old], after[now]];
    const [first, second, ratio] = $$("td.timed", row);
    first.textContent = words(times[0]);
    second.replaceChildren(words(times[1]));
    ratio.replaceChildren(...(times[0] && times[1] ? [element("strong", {}, `${(times[0] / times[1]).toFixed(2)}×`)] : []));
    row.hidden = false;
  }
}

function words(seconds) {
  if (!seconds) return "";
  const [factor, unit] = seconds < 1e-6 ? [1e9, "ns"] : seconds < 1e-3 ? [1e6, "µs"] : seconds < 1 ? [1e3, "ms"] : [1, "s"];
  return `${Number((seconds * factor).toPrecision(3))} ${unit}`;
}
