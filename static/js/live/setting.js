// Everything besides the script, as one page tells it to another: files, options, and the steps, units and machines that are
// chosen; which panes are open is everybody's own affair.
import { restoreControls } from "../draft.js";
import { detach } from "../files.js";
import { decode, encode, state, tell } from "../state.js";

const LONGEST = 400;

/** What another page is told of the view. */
export function chosenView() {
  const { closed, opened, ...view } = state.view;
  return Object.fromEntries(Object.entries(view).filter(([, value]) => value !== "" && String(value).length < LONGEST));
}

/** Take over the units, steps and machines of a view; what it does not name is as by default. */
export function choose({ closed, opened, ...chosen }) {
  ({ closed, opened } = state.view);
  for (const name of Object.keys(state.view)) delete state.view[name];
  Object.assign(state.view, { unit: -1, of_graph: -1, ...chosen, closed, opened });
}

/** What is compared to see whether the setting changed. */
export const compared = () => JSON.stringify([state.options, chosenView(), [...state.uploads], [...state.files].map(([name, { size }]) => [name, size])]);

export async function setting() {
  const files = {};
  for (const [name, blob] of state.files) files[name] = await encode(blob);
  return { files, uploads: Object.fromEntries(state.uploads), options: state.options, view: chosenView() };
}

/** Take over files, options and chosen steps. */
export function arrange({ files = {}, uploads = {}, options = {}, view = {} }) {
  state.files = new Map(Object.entries(files).map(([name, content]) => [name, decode(content)]));
  state.uploads = new Map(Object.entries(uploads));
  state.options = { ...options };
  choose(view);
  detach();
  restoreControls(state.options);
  tell("options");
}
