// Completes the API's names and explains them on hover; the server reads them off the package itself.
import { element } from "./dom.js";

let names = null;

async function load() {
  names ??= fetch("/completions").then((response) => (response.ok ? response.json() : {}));
  return names;
}

/** Which names stand behind `owner.`: a module, a stage (`s[C].`), or a schedule by the usual variable names. */
function ownerOf(text) {
  if (text.endsWith("]")) return "Stage";
  return /^(?:s|sch|sched|schedule)$/.test(text) ? "Schedule" : text;
}

/** Complete `te.`, `tvm.`, `s[C].` and so on. */
export async function complete(context) {
  const dotted = context.matchBefore(/(?:\b\w+|\])\.\w*/);
  if (!dotted) return null;
  const dot = dotted.text.indexOf(".");
  const options = (await load())[ownerOf(dotted.text.slice(0, dot))];
  return options ? { from: dotted.from + dot + 1, options, validFor: /^\w*$/ } : null;
}

/** Explain the name under the pointer. */
export async function explain(view, position) {
  const line = view.state.doc.lineAt(position);
  for (const match of line.text.matchAll(/(\w+|\])\.(\w+)/g)) {
    const from = line.from + match.index + match[1].length + 1;
    const to = from + match[2].length;
    if (position < from || position > to) continue;
    const found = (await load())[ownerOf(match[1])]?.find(({ label }) => label === match[2]);
    if (!found) return null;
    const create = () => ({ dom: element("div", { class: "explained" }, element("code", {}, found.label + found.detail), element("p", {}, found.info)) });
    return { pos: from, end: to, above: true, create };
  }
  return null;
}
