// A number of the script becomes a slider: where the pointer rests on it, is dragged over it with Alt, or by key.
import { EditorView, keymap } from "../vendor/codemirror.js";

const REST = 450; // milliseconds after which a pointer rests
let resting;

/** The panel is loaded once it is asked for. */
const open = async (view, place, how) => (await import("./slider/panel.js")).openSlider(view, place, how);

const isNumber = ({ target }, view) => target.closest?.(".n") && !view.state.readOnly;

export const sliding = [
  keymap.of([{ key: "F4", run: (view) => { open(view, view.state.selection.main.head, { focus: true }); return true; } }]),
  EditorView.domEventHandlers({
    pointermove(event, view) {
      clearTimeout(resting);
      if (!event.buttons && event.pointerType === "mouse" && isNumber(event, view)) resting = setTimeout(open, REST, view, event, { passing: true });
    },
    pointerleave() { clearTimeout(resting); },
    pointerdown(event, view) {
      clearTimeout(resting);
      if (!event.altKey || !isNumber(event, view)) return false;
      open(view, event, { dragged: true });
      event.preventDefault();
      return true;
    },
    mousedown: (event, view) => event.altKey && Boolean(isNumber(event, view)), // else the editor begins to select
    click(event, view) { if (event.pointerType === "touch" && isNumber(event, view)) open(view, event, {}); },
  }),
];
