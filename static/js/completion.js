// Completion of the API's names; the list comes from the page, which has it from the package itself.
import { $ } from "./dom.js";

const block = $("#api-names");
const names = block ? JSON.parse(block.textContent) : {};

/** Complete `te.`, `tvm.`, `s[C].` and so on; words of the script elsewhere. */
export function complete(context) {
  const dotted = context.matchBefore(/(?:\b\w+|\])\.\w*/);
  if (dotted) {
    const owner = dotted.text.startsWith("]") ? "Stage" : dotted.text.split(".")[0];
    const options = names[owner];
    if (!options) return null;
    return { from: dotted.from + dotted.text.indexOf(".") + 1, options, validFor: /^\w*$/ };
  }
  return null;
}
