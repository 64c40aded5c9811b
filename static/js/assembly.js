// What the assembly pane shows: for which CPU, of every that LLVM knows, and which lines.
import { $, $$, element } from "./dom.js";
import { on, state } from "./state.js";
import { setOption } from "./steps.js";

const MORE = "more";
const SEVERAL = "several";
const HOST = "host"; // its assembly is always there
let architectures = null; // [{name, cpus}], fetched when they are asked for

export function startAssembly() {
  const select = $("#assembly");
  document.addEventListener("change", ({ target }) => {
    if (target.dataset.machine) chooseForCopy(target);
    if (target.id !== "assembly") return;
    if (target.value === MORE || target.value === SEVERAL) {
      if (target.value === MORE) search();
      else compare().then(({ chooseTargets }) => chooseTargets());
      target.value = state.options.assembly ?? HOST;
      return;
    }
    setOption("assembly", target.value);
  });
  $("#cpu-search").addEventListener("input", list);
  $("#cpu-search").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "ArrowDown") return;
    event.preventDefault();
    const first = $("#cpu-list button");
    if (event.key === "Enter") first?.click();
    else first?.focus();
  });
  $("#cpu-list").addEventListener("click", ({ target }) => {
    const cpu = target.closest("button");
    if (!cpu) return;
    $("#cpus").close();
    showMachine(cpu.value);
    select.focus();
  });
  const filters = $("#asm-filters");
  filters.addEventListener("change", () => setOption("assembly_filters", chosen()));
  filters.addEventListener("beforetoggle", place);
  filters.addEventListener("submit", (event) => event.preventDefault());
  on("answered", nameMachines);
  tell();
  if (state.options.assembly_also) compare(); // as a link says
}

const compare = () => import("./targets/panel.js");

/** A CPU and the attributes it is taken with, as the server names them. */
export function wordsOf(machine) {
  const [architecture, ...cpu] = machine.split(":");
  return `${cpu.join(" ")} (${architecture})`;
}

/** Show the assembly for a machine: one that the pane names, or a CPU of an architecture, as `aarch64:cortex-a53`.
 * @param {string} machine */
export function showMachine(machine) {
  const select = $("#assembly");
  if (![...select.options].some(({ value }) => value === machine)) {
    select.insertBefore(element("option", { value: machine }, wordsOf(machine)), select.lastElementChild);
  }
  select.value = machine;
  setOption("assembly", machine);
}

/** Show the assembly for another machine in a further pane. */
function chooseForCopy({ dataset, selectedOptions }) {
  state.view[dataset.machine] = selectedOptions[0].dataset.step;
  const keys = new Set($$("#panes .pane:not(.closed) [data-machine]").map(({ value }) => value));
  keys.delete(HOST);
  compare();
  setOption("assembly_also", keys.size ? [...keys].sort() : undefined);
}

/** Further panes name the machine whose assembly they show: the one that was chosen, else that of the first pane. */
function nameMachines() {
  for (const select of $$("[data-machine]")) {
    const chosen = [...select.options].find(({ dataset }) => dataset.step === state.view[select.dataset.machine]);
    select.value = chosen?.value ?? $("#assembly").value;
  }
}

/** The filters in the order of their boxes; none is the default. */
function chosen() {
  const names = $$("#asm-filters input:checked").map(({ name }) => name);
  tell(names.length);
  return names.length ? names : undefined;
}

function tell(count = (state.options.assembly_filters ?? []).length) {
  $("#asm-filters-button").textContent = count ? `Filter ${count}` : "Filter";
}

/** Below its button, inside of the window. */
function place({ target, newState }) {
  if (newState !== "open") return;
  const box = $("#asm-filters-button").getBoundingClientRect();
  target.style.top = `${box.bottom + 4}px`;
  target.style.left = `${Math.max(8, Math.min(box.left, window.innerWidth - 288))}px`;
}

async function search() {
  $("#cpus").showModal();
  if (!architectures) {
    $("#cpu-count").textContent = "asking LLVM …";
    const answer = await fetch("/api/cpus").catch(() => null); // says so below
    if (!answer?.ok) { $("#cpu-count").textContent = "the server is not responding"; return; }
    architectures = await answer.json();
  }
  list();
  $("#cpu-search").select();
}

/** The CPUs whose names have what is searched for. */
function list() {
  const plain = (text) => text.toLowerCase().replace(/[\s_-]+/gu, ""); // a vendor writes Neoverse N1
  const query = plain($("#cpu-search").value);
  const groups = (architectures ?? []).map(({ name, cpus }) => [name, cpus.filter((cpu) => plain(name + cpu).includes(query))]);
  const count = groups.reduce((sum, [, cpus]) => sum + cpus.length, 0);
  $("#cpu-count").textContent = count === 1 ? "1 CPU" : `${count} CPUs`;
  $("#cpu-list").replaceChildren(...groups.filter(([, cpus]) => cpus.length).map(([name, cpus]) => element("section", { "aria-label": name },
    element("h3", {}, name), ...cpus.map((cpu) => element("button", { type: "button", class: "small", value: `${name}:${cpu}` }, cpu)))));
}
