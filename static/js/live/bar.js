// The bar over a live workspace: who is there, who writes, and what one can do about it.
import { button, swap } from "../bars.js";
import { $, element, toast } from "../dom.js";
import { editor } from "../editor.js";
import { tell } from "../state.js";

const bar = $("#live-bar");
let parts = null; // {people, pen, said}
let live = null; // what is shown, as `session.js` keeps it
let acts = null; // and what its buttons do

/** @param {object} shown
 * @param {{freeze, layPen, leave, link, rename, takePen, writer}} actions */
export function startBar(shown, actions) {
  [live, acts] = [shown, actions];
  parts = { people: element("ul", { class: "live-people", "aria-label": "People" }), pen: element("span", { class: "live-pen" }), said: element("span", { class: "live-said" }) };
  bar.replaceChildren(element("strong", {}, "Editing together"), parts.people, parts.pen, button("Copy the link", copyLink, { id: "live-link" }), menu(), parts.said);
  bar.hidden = false;
  drawBar();
}

export function endBar() {
  bar.hidden = true;
  bar.replaceChildren();
  parts = null;
}

function menu() {
  const name = element("input", { id: "live-name", maxlength: "24", autocomplete: "off", spellcheck: "false" });
  const form = element("form", { class: "live-rename" }, element("label", { for: "live-name" }, "Your name"), name, element("button", { class: "small" }, "Change"));
  form.addEventListener("submit", (event) => { event.preventDefault(); acts.rename(name.value); });
  const hint = element("p", { class: "hint" }, "Freeze makes a permalink of what the workspace is now, and ends the session for everybody; only who holds the pen can.");
  const body = element("div", { class: "menu-body" }, form, element("p", {}, button("Freeze to a permalink", acts.freeze, { id: "live-freeze" }), " ", button("Leave", () => acts.leave(), { id: "live-leave" })), hint);
  const made = element("details", { class: "menu", id: "live-menu" }, element("summary", { class: "button small" }, "More ▾"), body);
  made.addEventListener("toggle", () => { if (made.open) name.value = live.people.find(({ seat }) => seat === live.seat)?.name ?? ""; });
  return made;
}

export function drawBar() {
  if (!parts) return;
  swap(parts.people, live.people.map(person));
  swap(parts.pen, pen());
  swap(parts.said, said());
  $("#live-freeze").disabled = !live.writes;
}

function person({ seat, name, writes, asks, place }) {
  const own = seat === live.seat;
  const out = element("li", { class: `seat-${seat}` }, element("span", { class: "live-seat", "aria-hidden": "true" }, String(seat)), element("bdi", {}, name));
  if (own) out.append(" (you)");
  if (writes) out.append(" ", element("span", { class: "live-writes" }, "writes"));
  if (asks) out.append(" ", element("strong", {}, "asks for the pen"));
  if (!own) out.append(" ", button(`line ${place.line}`, () => editor.reveal(place.line), { id: `live-at-${seat}`, title: "Show this line" }));
  if (!own && place.pin?.length) out.append(" ", button(`pinned ${place.pin.join(", ")}`, () => { tell("source-pin", place.pin); editor.reveal(place.pin[0]); }, { id: `live-pin-${seat}`, title: "Pin this line too" }));
  return out;
}

function pen() {
  if (!live.seat) return [];
  if (!live.writes) {
    const free = !live.people.some(({ writes }) => writes);
    return [button("Take the pen", acts.takePen, { id: "live-take", title: free ? "Nobody holds it" : `${acts.writer()} holds it: it is yours if they have written nothing for ten seconds, else they are asked` })];
  }
  const asking = live.people.filter(({ asks, writes }) => asks && !writes);
  return [
    ...asking.map(({ seat, name }) => button(`Hand the pen to ${name}`, () => acts.layPen(seat), { id: `live-hand-${seat}` })),
    button("Lay the pen down", () => acts.layPen(), { id: "live-lay" }),
  ];
}

function said() {
  const out = [];
  if (!live.connected) out.push(element("strong", { class: "live-lost" }, "Connection lost; trying again …"));
  else if (live.refused || live.problem) out.push(element("strong", { class: "live-problem" }, live.refused || live.problem));
  if (live.lost) out.push(button(live.writes ? "Put back what I wrote" : "Copy what I wrote", restore, { id: "live-restore", title: "What you wrote last came too late: somebody else had the pen" }));
  return out;
}

async function restore() {
  if (live.writes) editor.text = live.lost;
  else await navigator.clipboard.writeText(live.lost).then(() => toast("Copied what you wrote"), () => toast("The browser does not let the page copy; take the pen to put it back"));
  live.lost = "";
  drawBar();
}

async function copyLink() {
  try {
    await navigator.clipboard.writeText(acts.link());
    toast(`Copied ${acts.link()}`);
  } catch {
    toast(`The link is ${acts.link()}`);
  }
}
