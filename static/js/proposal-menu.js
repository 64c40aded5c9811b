// The menu of a loop or a stage: what it can take next, first what might help and why, last what is refused and why.
import { $, $$, element } from "./dom.js";
import { apply, placeOf, propose, refusals, written } from "./proposals.js";
import { on } from "./state.js";

let handle = null; // what the menu was opened from
let opened = 0;

export function startProposalMenu() {
  const menu = $("#proposals");
  menu.addEventListener("keydown", pressed);
  menu.addEventListener("submit", splitBy);
  document.addEventListener("pointerdown", ({ target }) => { if (!menu.contains(target)) close(false); });
  on("edited", () => close(false));
  addEventListener("resize", () => close(false));
}

/** Open the menu of a handle.
 * @param {HTMLElement} button
 * @param {Promise<Awaited<ReturnType<typeof propose>>>} [asked] where it was asked already
 * @param {string} [first] what of it has the focus */
export async function openMenu(button, asked = propose(placeOf(button)), first = "button:not([aria-disabled])") {
  const menu = $("#proposals");
  handle = button;
  const turn = opened += 1;
  menu.setAttribute("aria-label", button.getAttribute("aria-label"));
  menu.replaceChildren(element("p", { class: "hint", role: "status" }, "Trying what can be applied …"));
  menu.hidden = false;
  place(menu);
  menu.focus();
  const answer = await asked;
  if (turn !== opened || menu.hidden) return;
  fill(menu, answer);
  place(menu);
  ($(first, menu) ?? menu).focus();
}

function fill(menu, { script, proposals, problem }) {
  if (problem) {
    menu.replaceChildren(element("p", { class: "hint", role: "status" }, problem));
    return;
  }
  const legal = proposals.filter(({ edit }) => edit);
  const paying = legal.filter(({ gain }) => gain);
  const parts = [
    section("Might help", paying.map((proposal) => choice(proposal, proposal.gain, script))),
    section(paying.length ? "Also possible" : "Possible", legal.filter(({ gain }) => !gain).map((proposal) => choice(proposal, "", script))),
  ];
  if (handle.dataset.loop) parts.push(factorForm());
  parts.push(section("Not possible", refusals(proposals).map((proposal) => choice(proposal, proposal.refused, script))));
  menu.replaceChildren(...parts.flat());
}

const section = (title, items) => (items.length ? [element("h3", {}, title), element("ul", {}, ...items.map((item) => element("li", {}, item)))] : []);

function choice(proposal, reason, script) {
  const button = element("button", { type: "button", class: "plain", ...(proposal.edit ? {} : { "aria-disabled": "true" }) }, proposal.label);
  if (reason) button.append(element("small", {}, reason));
  if (proposal.edit) button.title = written(proposal.edit);
  if (proposal.edit?.instead) button.append(element("small", {}, `instead of ${proposal.edit.instead}`));
  button.addEventListener("click", () => {
    if (proposal.edit) close(true);
    apply(proposal, script);
  });
  return button;
}

const factorForm = () => element(
  "form", { class: "factor" }, element("label", {}, "split by ", element("input", { type: "number", min: "1", max: "1048576", required: "", name: "factor" })),
  element("button", { class: "small" }, "Split"),
);

async function splitBy(event) {
  event.preventDefault();
  const { script, proposals, problem } = await propose(placeOf(handle), Number(event.target.elements.factor.value));
  if (proposals[0]?.edit) close(true);
  apply(proposals[0] ?? { label: "split", refused: problem }, script);
}

function pressed(event) {
  const buttons = $$("button, input", $("#proposals"));
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") {
    close(true);
  } else if (event.key === "Tab") {
    close(true);
    return;
  } else if (step && buttons.length) {
    const at = buttons.indexOf(document.activeElement);
    buttons.at((at + step + buttons.length) % buttons.length).focus();
  } else if (event.key === "Home" || event.key === "End") {
    buttons.at(event.key === "Home" ? 0 : -1)?.focus();
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}

function close(back) {
  const menu = $("#proposals");
  if (menu.hidden) return;
  menu.hidden = true;
  if (back) handle?.focus();
}

/** Beside the handle, and inside of the window. */
function place(menu) {
  const box = handle.getBoundingClientRect();
  menu.style.left = `${Math.max(8, Math.min(box.right + 4, innerWidth - menu.offsetWidth - 8))}px`;
  menu.style.top = `${Math.max(8, Math.min(box.top, innerHeight - menu.offsetHeight - 8))}px`;
}
