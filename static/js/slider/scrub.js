// Measures the program at every stop of a slider, and draws the curve: time against value.
import { announce, element, svgElement, toast } from "../dom.js";
import { ask, busyWords, follow, post } from "../server.js";
import { workspaceJson } from "../state.js";

const HEIGHT = 84; // pixels of the curve
const COLUMN = 40; // units of the drawing between two values
const LEAST = 0.06; // of the height, above which the best time stands

/** @typedef {{seconds?: number, flops?: number, disturbed?: boolean, refused?: string}} Figure of a value */

export class Scrub {
  /** @param {import("./panel.js").Slider} slider */
  constructor(slider) {
    this.slider = slider;
    this.dom = element("div", { class: "curve", hidden: "" });
    this.said = element("p", { class: "slider-words", role: "status" });
    this.points = element("div", { class: "points" });
    this.scale = element("p", { class: "slider-words" });
    this.dom.append(this.scale, this.points, this.said);
    this.figures = new Map(); // value -> Figure
    this.running = null; // {id, source}
  }

  /** Measure at all stops; while that goes on, the button stops it. */
  async toggle(button) {
    if (this.running) return this.stop();
    this.button = button;
    this.figures.clear();
    this.dom.hidden = false;
    this.say("asking …");
    const { slider } = this;
    const line = slider.view.state.doc.lineAt(slider.from);
    const place = { line: line.number, column: [...line.text.slice(0, slider.from - line.from)].length };
    const response = await post("/api/scrubs", { ...(await workspaceJson(slider.view.state.doc.toString())), ...place, values: slider.stops });
    const answer = await response.json().catch(() => ({ error: { message: "the server is not responding" } }));
    if (!response.ok) return this.say(answer.error.message);
    return this.follow(answer);
  }

  follow({ id, events }) {
    this.button.textContent = "Stop";
    const source = follow(events, {
      queued: ({ place }) => this.say(busyWords(place)),
      progress: ({ done, total, label }) => this.say(`${label}: ${done} of ${total}`),
      failed: ({ label, problem }) => this.figures.set(label, { refused: problem.message.split("\n")[0] }),
      measured: ({ measurement }) => this.figures.set(measurement.name, figureOf(measurement)),
      ended: ({ status, message }) => this.end(status, message),
    }, () => this.draw());
    this.running = { id, source };
  }

  end(status, message) {
    this.running?.source.close();
    this.running = null;
    this.button.textContent = "Measure again";
    this.say(status === "ok" ? this.verdict() : message || "stopped");
    announce(this.said.textContent);
    this.draw();
  }

  async stop() {
    const id = this.running?.id;
    if (!id) return;
    const answer = await ask(`/api/ladders/${id}`, { method: "DELETE" });
    if (!answer.ok) toast("The measurement could not be stopped");
  }

  say(words) { this.said.textContent = words; }

  get measured() { return this.slider.stops.filter((value) => this.figures.get(value)?.seconds); }

  get best() { return this.measured.reduce((best, value) => (!best || this.cost(value) < this.cost(best) ? value : best), ""); }

  /** What is compared: seconds, or where the values make more or less work, seconds of an operation. */
  cost(value) {
    const { seconds = 0, flops } = this.figures.get(value) ?? {};
    return this.isSize ? seconds / flops : seconds;
  }

  /** Whether the number is a size: each value makes another amount of work, all of which are known. */
  get isSize() {
    const amounts = this.measured.map((value) => this.figures.get(value).flops);
    return amounts.every(Boolean) && new Set(amounts).size > 1;
  }

  words(value) {
    const { seconds, flops } = this.figures.get(value);
    return this.isSize ? `${Number((flops / seconds / 1e9).toPrecision(3))} GFLOP/s, ${duration(seconds)}` : duration(seconds);
  }

  verdict() {
    const { best, slider } = this;
    if (!best) return [...this.figures.values()][0]?.refused ?? "Nothing was measured.";
    const now = this.cost(slider.start);
    const gain = now && best !== slider.start ? `, ${Number((now / this.cost(best)).toPrecision(3))} × as fast as ${slider.start}` : "";
    const disturbed = this.measured.some((value) => this.figures.get(value).disturbed) ? " Other programs used the processors: marked figures are rough." : "";
    return `Best: ${best} with ${this.words(best)}${gain}.${disturbed}`;
  }

  /** Draw a column for each value: a point at its time, or the reason why there is none. */
  draw() {
    const { slider, best } = this;
    const times = this.measured.map((value) => this.cost(value));
    const [least, most] = [Math.min(...times), Math.max(...times)];
    const height = (value) => LEAST + (1 - 2 * LEAST) * (most > least ? Math.log(this.cost(value) / least) / Math.log(most / least) : 0);
    const columns = slider.stops.map((value) => {
      const figure = this.figures.get(value) ?? {};
      const words = figure.refused ?? (figure.seconds ? this.words(value) : "not measured yet");
      const button = element("button", { type: "button", class: "point", title: `${value}: ${words}${figure.disturbed ? " (disturbed)" : ""}`, "aria-label": `${value}: ${words}${value === best ? ", the best" : ""}${figure.disturbed ? ", disturbed" : ""}` }, element("span", {}, value));
      for (const [name, holds] of Object.entries({ refused: figure.refused, best: value === best, disturbed: figure.disturbed, measured: figure.seconds })) button.classList.toggle(name, Boolean(holds));
      if (figure.seconds) button.style.setProperty("--at", String(height(value)));
      button.addEventListener("click", () => { slider.set(value); slider.settle(); if (figure.refused) this.say(`${value}: ${figure.refused}`); });
      return button;
    });
    const slowest = this.measured.find((value) => this.cost(value) === most);
    this.scale.textContent = most > least ? `Logarithmic, from ${this.words(slowest)} at the bottom to ${this.words(best)}` : "";
    const focused = [...this.points.querySelectorAll(".point")].indexOf(document.activeElement);
    this.points.replaceChildren(this.line(height), ...columns);
    columns[focused]?.focus();
    this.mark(slider.value);
  }

  /** The line through the points, broken where a value is refused. */
  line(height) {
    const { stops } = this.slider;
    const drawn = svgElement("svg", { class: "line", viewBox: `0 0 ${stops.length * COLUMN} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    let path = "";
    stops.forEach((value, index) => {
      const before = index && this.cost(stops[index - 1]);
      if (this.cost(value)) path += `${before ? "L" : "M"}${(index + 0.5) * COLUMN} ${HEIGHT * (1 - height(value))}`;
    });
    drawn.append(svgElement("path", { d: path, "vector-effect": "non-scaling-stroke" }));
    return drawn;
  }

  /** Mark the column of the value that is set. */
  mark(value) {
    const points = [...this.points.querySelectorAll(".point")];
    this.slider.stops.forEach((stop, index) => points[index]?.toggleAttribute("aria-current", stop === value));
  }
}

/** @returns {Figure} */
function figureOf({ seconds, flops, disturbed, checked }) {
  return checked === "wrong" ? { refused: "the result is wrong" } : { seconds, flops, disturbed };
}

/** A time in three digits. */
function duration(seconds) {
  const [unit, factor] = [["s", 1], ["ms", 1e3], ["µs", 1e6], ["ns", 1e9]].find(([, times]) => seconds * times >= 1) ?? ["ns", 1e9];
  return `${Number((seconds * factor).toPrecision(3))} ${unit}`;
}
