// What the panes of kernels show: in which language, and for which architecture.
import { setOption } from "./steps.js";

const DEFAULTS = { device: "", arch: "sm_90" };

export function startDevice() {
  document.addEventListener("change", ({ target }) => {
    if (target.id in DEFAULTS) setOption(target.id, target.value === DEFAULTS[target.id] ? undefined : target.value);
  });
}
