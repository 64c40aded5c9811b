// The board of a class on a projector: how far it is, and the fastest of each step that is measured.
import { $, $$, counted, element } from "../dom.js";
import { changeTheme } from "../memory.js";

const PLACES = 8; // of a step
const AGAIN_MS = 5000; // after which a server that did not answer is asked again
const address = `/api/classes/${encodeURIComponent($("#class-board").dataset.class)}/events`;
const say = (words) => { $("#class-state").textContent = words; };

function follow() {
  const source = new EventSource(address);
  source.addEventListener("news", ({ data }) => show(JSON.parse(data)));
  source.addEventListener("ended", () => { source.close(); say("This class has ended"); });
  source.onerror = async () => {
    say("The connection is lost; trying again …");
    if (source.readyState !== EventSource.CLOSED) return;
    const asked = new AbortController();
    const { status } = await fetch(address, { signal: asked.signal }).catch(() => ({ status: 0 }));
    asked.abort();
    if (status === 404) say("There is no such class, or it ended");
    else setTimeout(follow, AGAIN_MS);
  };
}

function show({ students, passed, board }) {
  say(counted(students, "student"));
  for (const item of $$("[data-step]")) {
    const number = passed[item.dataset.step] ?? 0;
    Object.assign($("progress", item), { max: Math.max(students, 1), value: number });
    $("b", item).textContent = `${number} of ${students}`;
  }
  const steps = [...new Set(board.map(({ step }) => step))];
  if (steps.length) $("#class-places").replaceChildren(...steps.map((step) => places(step, board.filter((row) => row.step === step).slice(0, PLACES))));
}

function places(step, rows) {
  const line = (cells, tag) => element("tr", {}, ...cells.map((cell) => element(tag, {}, cell)));
  const body = rows.map(({ name, milliseconds, times_numpy: times, disturbed }, index) => line([String(index + 1), element("bdi", {}, name), `${milliseconds.toPrecision(3)} ms${disturbed ? " (machine busy)" : ""}`, times ? `${times.toPrecision(3)} × NumPy` : ""], "td"));
  return element("table", {}, element("caption", {}, `Step ${step}`), element("thead", {}, line(["", "Name", "Time", "Against NumPy"], "th")), element("tbody", {}, ...body));
}

$("#class-join").textContent = location.href.replace("/board?", "?");
$("#theme-button").addEventListener("click", changeTheme);
follow();
document.documentElement.dataset.ready = "true";
