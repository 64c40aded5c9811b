// Completes the names of the public API; each shows its documentation beside the list.
import { documentation, namesOf, resolve } from "./api.js";

const IMPORT = /from[ \t]+tvm[\w.]*[ \t]+import[ \t]+(?:\w+[ \t]*,[ \t]*)*\w*/;
const DOTTED = /(?:[\])]|[A-Za-z_]\w*)(?:\.\w*)+/;

/** Complete `te.`, `relay.nn.`, `s[C].`, `C.op.`, `from tvm import ` and so on. */
export async function complete(context) {
  const imported = context.matchBefore(IMPORT);
  const dotted = context.matchBefore(DOTTED);
  if (imported) return offer(imported.text.split(/[ \t]+/)[1], context.pos - /\w*$/.exec(imported.text)[0].length);
  if (!dotted) return null;
  const dot = dotted.text.lastIndexOf(".");
  const owner = await resolve(dotted.text.slice(0, dot), context.state.doc.toString(), dotted.from + dot);
  return owner && offer(owner, dotted.from + dot + 1);
}

/** The names of a module or class, which replace the word that begins at `from`. */
async function offer(owner, from) {
  const names = await namesOf(owner);
  const options = names.map((name) => ({ ...name, info: () => documentation(`${owner}.${name.label}`) }));
  return options.length ? { from, options, validFor: /^\w*$/ } : null;
}
