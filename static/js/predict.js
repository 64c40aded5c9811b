// Predict first: a bar for each step of the schedule, drawn by whoever looks at it, before the ladder measures.
import { $, $$, element, toast } from "./dom.js";

const STEPS = 8; // positions of a slider between two powers of two
const LEAST = -2; // the slowest that can be predicted, as a power of two
const MOST = 12;

let drawn = new Map(); // step -> times as fast as the first

/** What was predicted, by step. */
export const predictions = () => Object.fromEntries(drawn);

/** Forget them, and the bars that are being drawn: they were for other steps. */
export function forgetPredictions() {
  drawn = new Map();
  closeForm();
}

/** Take the bars away; what was predicted before stays. */
export function closeForm() {
  $("#predict")?.remove();
  $("#ladder-predict").setAttribute("aria-expanded", "false");
}

/** The steps after the first that the ladder measures, as the page lists them. */
function steps() {
  return $$(".primitives .primitive[data-rung]").filter(({ dataset }) => Number(dataset.prefix) > 0)
    .map(({ dataset, textContent }) => ({ step: Number(dataset.prefix), name: textContent.trim() }));
}

const words = (factor) => `${Number(factor.toPrecision(2)).toLocaleString("en-US")}×`;

/** Show the bars to draw, or take them away.
 * @param {() => void} measure starts the ladder */
export function togglePredicting(measure) {
  if ($("#predict")) {
    closeForm();
    return;
  }
  const listed = steps();
  if (!listed.length) {
    toast("There is nothing to predict: the script has no schedule with steps");
    return;
  }
  $("#ladder-predict").setAttribute("aria-expanded", "true");
  const form = element("form", { class: "predict", id: "predict", "aria-label": "Your predictions" },
    element("p", { class: "hint" }, "How much faster than the unscheduled definition is the program after each step? Draw the bars, then measure."),
    ...listed.map(slider),
    element("div", { class: "buttons" }, element("button", { type: "submit", class: "primary small" }, "Measure"), element("button", { type: "button", class: "small", id: "predict-clear" }, "Cancel")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    drawn = new Map($$("input", form).map((input) => [Number(input.dataset.step), 2 ** (Number(input.value) / STEPS)]));
    measure();
  });
  $("#bench").before(form);
  $("#predict-clear").addEventListener("click", forgetPredictions);
  $("input", form).focus();
}

function slider({ step, name }) {
  const factor = drawn.get(step) ?? 1;
  const input = element("input", { type: "range", min: String(LEAST * STEPS), max: String(MOST * STEPS), value: String(Math.round(Math.log2(factor) * STEPS)), "data-step": String(step) });
  const output = element("output", {}, words(factor));
  input.addEventListener("input", () => {
    const value = 2 ** (Number(input.value) / STEPS);
    output.textContent = words(value);
    input.setAttribute("aria-valuetext", words(value));
  });
  return element("label", {}, element("span", { title: name }, `${step} ${name}`), input, output);
}
