// Asks the server what the instructions around a line do, and draws the tip.
import { $, $$, element } from "../dom.js";
import { state } from "../state.js";

const CHUNK = 200; // lines of a listing that are asked for together, as the server counts them

const told = new Map(); // address -> promise of the tips of a chunk

/** Where the server says what the instructions around a line do: those of a difference have the numbers of their own side. */
function addressOf(line) {
  const { listing, before, pane } = line.closest(".code").dataset;
  const index = Number($("b", line).textContent) - 1;
  const key = line.matches(".removed, .away") && before ? before : listing;
  if (!key || !(index >= 0)) return null;
  const assembly = $(`[data-machine="${pane}"]`)?.value ?? state.options.assembly ?? "";
  return { url: `/listings/${key}/${Math.floor(index / CHUNK)}/instructions?${new URLSearchParams({ assembly })}`, at: index % CHUNK };
}

function ask(url) {
  if (!told.has(url)) {
    const answer = fetch(url).then((response) => (response.ok ? response.json() : null)).then((read) => read?.tips ?? [], () => []);
    told.set(url, answer);
    answer.then((tips) => { if (!tips.length) told.delete(url); }); // nothing is shown; the next time may be better
  }
  return told.get(url);
}

/** What the instruction of a line does; undefined if it has none that is known.
 * @param {Element} line */
export async function tipOf(line) {
  const address = addressOf(line);
  return address ? (await ask(address.url))[address.at] : undefined;
}

/** Draw a tip beside a word of its line.
 * @param {{name: string, meaning: string, parts?: string[][], operands?: string[][], timing?: string}} tip */
export function show({ name, meaning, parts = [], operands = [], timing }, line, word) {
  const rows = [...parts, ...operands].flatMap(([term, words]) => [element("dt", {}, term), element("dd", {}, words)]);
  const tip = $("#tip");
  tip.replaceChildren(element("strong", {}, name), meaning, ...(rows.length ? [element("dl", {}, ...rows)] : []),
    ...(timing ? [element("p", {}, timing)] : []));
  tip.hidden = false;
  line.closest(".code").setAttribute("aria-describedby", "tip");
  const box = word.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(box.left, innerWidth - tip.offsetWidth - 8))}px`;
  const below = box.bottom + 6;
  const above = box.top - tip.offsetHeight - 6;
  tip.style.top = `${below + tip.offsetHeight < innerHeight || above < 0 ? Math.max(8, Math.min(below, innerHeight - tip.offsetHeight - 8)) : above}px`;
}

export function hide() {
  $("#tip").hidden = true;
  for (const body of $$("[aria-describedby=tip]")) body.removeAttribute("aria-describedby");
}
