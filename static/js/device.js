// What panes show on request: kernels in which language, for which architecture and device, and what takes long.
import { $, $$ } from "./dom.js";
import { PANES } from "./panes.js";
import { on, state } from "./state.js";
import { setOption } from "./steps.js";

const DEFAULTS = { device: "", arch: "sm_90" };

export function startDevice() {
  document.addEventListener("change", ({ target }) => {
    if (target.id === "arch" && !complete(target)) return;
    if (target.id in DEFAULTS) setOption(target.id, target.value === DEFAULTS[target.id] ? undefined : target.value);
    if ("device" in target.dataset) chooseRoof(target.value);
  });
  document.addEventListener("focusin", ({ target }) => { if (target.id === "arch") offerAll(target); });
  document.addEventListener("focusout", ({ target }) => { if (target.id === "arch") target.value ||= target.placeholder; });
  on("shown", askForOpen);
  askForOpen();
  on("answered", () => showRoof(state.view.roof));
  showRoof(state.view.roof);
}

/** Empty the field of the architecture, so that its list has them all; what it held comes back where nothing is chosen. */
function offerAll(field) {
  field.placeholder = field.value;
  field.value = "";
}

/** Make what was typed the name of an architecture: it may be part of one, or of a GPU's.
 * @returns {boolean} whether there is such a one */
function complete(field) {
  const typed = field.value.trim().toLowerCase();
  const options = $$("option", field.list);
  const option = options.find(({ value }) => value === typed)
    ?? options.find(({ value, text }) => typed && `${value} ${text}`.toLowerCase().includes(typed));
  if (option) field.placeholder = option.value;
  field.value = field.placeholder;
  return Boolean(option);
}

/** What takes long, such as disassembling, is asked for once its pane is open, also where a visitor left it open. */
function askForOpen() {
  for (const { name, option } of PANES) {
    if (!option || state.options[option] || $(`#pane-${name}`).classList.contains("closed")) continue;
    state.compiled = false; // what came with the page has none
    setOption(option, true);
  }
}

/** Show the rooflines of a device; links keep which. */
function chooseRoof(key) {
  state.view.roof = key;
  showRoof(key);
}

function showRoof(key) {
  const charts = $$("#pane-gpu [data-roof]");
  if (!charts.some(({ dataset }) => dataset.roof === key)) return;
  for (const chart of charts) chart.hidden = chart.dataset.roof !== key;
  for (const select of $$("#pane-gpu [data-device]")) select.value = key;
}
