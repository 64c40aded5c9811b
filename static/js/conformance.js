// One script for several machines and levels of optimisation at once: whether it compiles there, and to what.
import { showMachine, wordsOf } from "./assembly.js";
import { $, $$, announce, counted, element, toast } from "./dom.js";
import { editor } from "./editor.js";
import { focusPane } from "./layout.js";
import { on, state, workspaceJson } from "./state.js";

const PANE = "conformance";
const HOST = "host";
const MAX_ROWS = 16;
const AT_ONCE = 2; // requests under way
const USUAL_LEVEL = 3;

/** @typedef {{machine: string, level: number}} Row */

/** @type {Row[]} */
let rows = [];
let round = 0; // of compilations: what an older one brings is dropped
let compiled = false;

export function startConformance() {
  rows = kept() ?? named().map((machine) => ({ machine, level: USUAL_LEVEL }));
  draw();
  offerShown();
  $("#conformance-add").addEventListener("click", add);
  $("#conformance-compile").addEventListener("click", compileAll);
  $("#conformance tbody").addEventListener("click", ({ target }) => {
    const row = target.closest("tr");
    if (target.closest(".remove")) remove(row);
    else if (target.closest(".open")) open(rows[row.rowIndex - 1]);
  });
  on("edited", () => $("#conformance").classList.add("older"));
  on("answered", offerShown);
  on("shown", compileOnce);
  on("answered", compileOnce);
}

const named = () => [...$("#conformance-machine").options].map(({ value }) => value).filter((value) => value !== "shown");

/** The rows of a link or of the page before its reload, as `host@3 aarch64:cortex-a53@2`.
 * @returns {Row[] | null} */
function kept() {
  const text = state.view[PANE];
  if (typeof text !== "string") return null;
  const parts = text.split(" ").map((row) => /^([\w:.+-]+)@([0-3])$/.exec(row)).filter(Boolean);
  return parts.slice(0, MAX_ROWS).map(([, machine, level]) => ({ machine, level: Number(level) }));
}

function keep() {
  state.view[PANE] = rows.map(({ machine, level }) => `${machine}@${level}`).join(" ");
}

/** A CPU that the Assembly pane shows can be added too. */
function offerShown() {
  const { assembly = HOST } = state.options;
  const option = $("#conformance-machine option:last-child");
  option.hidden = named().includes(assembly);
  option.textContent = nameOf(assembly);
}

function nameOf(machine) {
  const option = $$("#conformance-machine option").find(({ value }) => value === machine);
  return option?.textContent ?? wordsOf(machine);
}

function draw() {
  $("#conformance tbody").replaceChildren(...rows.map((row) => element("tr", {},
    element("th", { scope: "row" }, element("button", { type: "button", class: "link open", title: "Show the assembly for it" }, nameOf(row.machine))),
    element("td", {}, `O${row.level}`),
    element("td", { class: "result" }),
    ...["instructions", "vectors", "fma", "spills", "findings"].map((name) => element("td", { "data-fact": name })),
    element("td", {}, element("button", { type: "button", class: "icon small remove", "aria-label": `Remove ${nameOf(row.machine)}, O${row.level}` }, "✕")))));
}

function add() {
  const chosen = $("#conformance-machine").value;
  const row = { machine: chosen === "shown" ? state.options.assembly : chosen, level: Number($("#conformance-level").value) };
  if (rows.some(({ machine, level }) => machine === row.machine && level === row.level)) return toast("This row already exists");
  if (rows.length >= MAX_ROWS) return toast(`At most ${MAX_ROWS} rows`);
  rows.push(row);
  keep();
  draw();
  return compileAll();
}

function remove(row) {
  rows.splice(row.rowIndex - 1, 1);
  row.remove();
  keep();
}

/** Show the assembly of a row. */
function open({ machine, level }) {
  if (level === USUAL_LEVEL) delete state.options.opt_level;
  else state.options.opt_level = level;
  $('#options-form [name="opt_level"]').value = level;
  showMachine(machine);
  focusPane("asm");
}

/** Compile once the pane is open; afterwards when asked to. */
function compileOnce() {
  if (compiled || $("#pane-conformance").classList.contains("closed") || document.body.classList.contains("pending")) return;
  compileAll();
}

async function compileAll() {
  compiled = true;
  const mine = round += 1;
  const workspace = await workspaceJson(editor.text);
  const waiting = rows.map((row, index) => [row, $("#conformance tbody").rows[index]]);
  for (const [, line] of waiting) say(line, "waiting …");
  $("#conformance").classList.remove("older");
  const work = async () => {
    while (waiting.length && mine === round) {
      const [row, line] = waiting.shift();
      say(line, "compiling …");
      const answer = await compile(workspace, row);
      if (mine === round) show(row, line, answer);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (mine === round) announce(`Compiled ${counted(rows.length, "row")}`);
}

/** What the server answers for a row; null where it does not. */
async function compile(workspace, { machine, level }) {
  const options = { ...workspace.options, assembly: machine, assembly_also: undefined, opt_level: level };
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch("/api/compile", { method: "POST", headers, body: JSON.stringify({ ...workspace, options }) }).catch(() => null);
  return answer?.ok ? answer.json() : null;
}

function say(line, words, failed = false) {
  const result = $(".result", line);
  result.replaceChildren(words);
  line.classList.toggle("wrong", failed);
  for (const cell of $$("[data-fact]", line)) [cell.textContent, cell.title] = ["", ""];
}

function show({ machine }, line, answer) {
  if (!answer) return say(line, "the server did not answer; compile again", true);
  const { problems = [] } = answer;
  const error = problems.find(({ severity = "error" }) => severity === "error");
  if (error) {
    say(line, `✗ ${error.kind}`, true);
    const where = error.line && element("button", { type: "button", class: "link", "data-goto": String(error.line), title: error.message }, `line ${error.line}`);
    if (where) $(".result", line).append(" at ", where);
    return undefined;
  }
  const listing = listingOf(answer, machine);
  if (!listing) return say(line, "no code: no function was built for a CPU", true);
  const { instructions = 0, "vector bits": bits, fma = 0, spills = 0 } = listing.summary;
  say(line, problems.length ? `✓ ${counted(problems.length, "warning")}` : "✓ compiles");
  const shown = { instructions: instructions.toLocaleString("en"), vectors: bits ? `${bits}-bit` : "scalar", fma, spills };
  for (const cell of $$("[data-fact]", line)) cell.textContent = shown[cell.dataset.fact];
  // A narrow column has the kinds only; which loop has how many is said where one points.
  const { name, findings = [] } = listing;
  const kinds = new Set(findings.map((words) => words.split(":")[0]));
  const last = $('[data-fact="findings"]', line);
  last.textContent = [...kinds].join(", ");
  last.title = findings.map((words) => `${name}: ${words}`).join("\n");
  return undefined;
}

/** The assembly of the function that the panes show: that of this machine comes first, then that of the one asked for. */
function listingOf({ units = [], listings = {} }, machine) {
  const functions = units.filter(({ kind = "function" }) => kind === "function");
  const chosen = functions[state.view.unit] ?? functions.findLast(({ built }) => built) ?? functions.at(-1);
  const steps = (chosen?.steps ?? []).filter(({ group }) => group === "assembly");
  const listing = listings[steps[machine === HOST ? 0 : 1]?.listing];
  return listing?.summary && listing;
}
