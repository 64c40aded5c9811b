// What the server draws of a step, at an address that holds the hash of its content: fetched once, parsed ahead while nothing
// else is to be done, kept.
import { askPatiently, unreached } from "./server.js";

const MAX_CHARACTERS = 4_000_000; // of all that is kept; what was asked for longest ago goes first
const whenIdle = window.requestIdleCallback ?? setTimeout; // Safari has no other
const kept = new Map(); // address -> Fragment, the one that was asked for last at the end

/** What the server answers at an address. */
class Fragment {
  ok = false; // whether it is what was asked for; else it may say why not
  problem = ""; // in words, where no server was reached
  characters = 0; // of its text, once it has arrived
  #html = "";
  #content = null;

  constructor(address, priority) {
    this.arrived = this.#fetch(address, priority);
  }

  async #fetch(address, priority) {
    const answer = await askPatiently(address, { priority, headers: { "HX-Request": "true" } });
    if (unreached(answer)) this.problem = (await answer.json()).error.message;
    if (answer.ok || answer.headers.has("Strata-Fragment")) this.#html = await answer.text().catch(() => ""); // it broke off
    this.characters = this.#html.length;
    this.ok = answer.ok && this.characters > 0;
  }

  parse() {
    if (this.#content) return;
    const holder = document.createElement("template");
    holder.innerHTML = this.#html; // rendered and escaped by our own server
    this.#content = holder.content;
    this.#html = "";
  }

  /** Its elements, for the page to change as it likes: what is kept stays as the server drew it. */
  copy() {
    this.parse();
    return document.importNode(this.#content, true);
  }
}

/** The fragment at an address, once it is there.
 * @param {string} address
 * @returns {Promise<Fragment>} without characters where the server has it no more or cannot be reached */
export const fragment = (address) => find(address, "auto");

/** Have a fragment before it is asked for; whoever asks for it tells if it fails.
 * @param {string} address */
export async function fetchAhead(address) {
  const coming = await find(address, "low");
  whenIdle(() => coming.parse());
}

async function find(address, priority) {
  const found = kept.get(address) ?? new Fragment(address, priority);
  kept.delete(address);
  kept.set(address, found);
  await found.arrived;
  if (!found.ok && kept.get(address) === found) kept.delete(address); // asked for again, it may be there
  trim();
  return found;
}

function trim() {
  let characters = 0;
  for (const [address, found] of [...kept].reverse()) {
    characters += found.characters;
    if (characters > MAX_CHARACTERS) kept.delete(address);
  }
}
