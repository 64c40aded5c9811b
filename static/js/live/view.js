// The steps, units and machines that are chosen, as one page tells them to another; which panes are open is everybody's own affair.
import { state } from "../state.js";

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
