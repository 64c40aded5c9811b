// What the panes of kernels show: in which language, for which architecture, and on which device.
import { $$ } from "./dom.js";
import { on, state } from "./state.js";
import { setOption } from "./steps.js";

const DEFAULTS = { device: "", arch: "sm_90" };

export function startDevice() {
  document.addEventListener("change", ({ target }) => {
    if (target.id in DEFAULTS) setOption(target.id, target.value === DEFAULTS[target.id] ? undefined : target.value);
    if ("device" in target.dataset) chooseRoof(target.value);
  });
  on("answered", () => showRoof(state.view.roof));
  showRoof(state.view.roof);
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
