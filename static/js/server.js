// Requests to the server that always come back: one that cannot be reached answers too, in words.

import { toast } from "./dom.js";
import { tell } from "./state.js";

const UNREACHED = "Strata-Unreached";
const GATEWAY = [502, 503, 504]; // what a proxy says in the place of a server that is gone

const BUSY = [429, 503];
const PATIENCE_MS = 60_000; // for which a busy server is asked again and again
const REDRAW_MS = 2000;

/** Ask as fetch does, and again as often as a busy server says when to come back.
 * @param {string} address
 * @param {RequestInit} [init]
 * @returns {Promise<Response>} what the server says in the end */
export async function askPatiently(address, init) {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask(address, init);
    const seconds = retryAfter(answer);
    if (!seconds || Date.now() + seconds * 1000 > until) return answer;
    tell("busy", seconds);
    await pause(seconds * 1000, init?.signal);
  }
}

/** The seconds after which a busy server wants to be asked again; 0 from any other.
 * @param {Response} answer */
export const retryAfter = ({ status, headers }) => (BUSY.includes(status) ? Number(headers.get("Retry-After")) : 0);

/** Wait; who gives a request up meanwhile is told as by fetch. */
const pause = (milliseconds, signal) => new Promise((done, failed) => {
  const timer = setTimeout(done, milliseconds);
  signal?.addEventListener("abort", () => { clearTimeout(timer); failed(new DOMException("", "AbortError")); }, { once: true });
});

const ORDINALS = ["next", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];

/** What is said while a server has no time yet.
 * @param {number} [place] in its queue, from 1 on */
export function busyWords(place) {
  const turn = place ? ` you are ${ORDINALS[place - 1] ?? `number ${place}`};` : "";
  return `the server is busy;${turn} still trying …`;
}

/** Ask as fetch does.  Where no server answers, the answer says so as the server's own errors do.
 * @param {string} address
 * @param {RequestInit} [init]
 * @returns {Promise<Response>} */
export async function ask(address, init) {
  const answer = await fetch(address, init).catch((error) => {
    if (error instanceof TypeError) return null; // there is no network; a request that is given up fails otherwise
    throw error;
  });
  return answer && !fromProxy(answer) ? answer : unanswered();
}

/** Post a value as JSON; a busy server is asked again.
 * @param {string} address
 * @param {unknown} value */
export const post = (address, value) => askPatiently(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) });

export const AWAY = "the server does not answer; still trying …";
const AWAY_MS = 1000; // after which it is told; a connection that ends with its page is not missed

/** Follow what the server tells of a job, and go on where it was told last after the server was away.
 * @param {string} address
 * @param {Record<string, (event: any) => void>} heard by kind of event; "ended" comes in any case, and last
 * @param {() => void} [after] each event
 * @param {(isAway: boolean) => void} [reached] told when the server is away, and when it answers again */
export function follow(address, heard, after, reached) {
  let source, last = "", missed = 0, isAway = false, over = false;
  const close = () => { over = true; clearTimeout(missed); source.close(); };
  const hear = (kind, event) => {
    if (kind === "ended") close();
    heard[kind](event);
    after?.();
  };
  const noteAway = (now) => {
    missed = 0;
    if (now !== isAway) reached?.(isAway = now);
  };
  function open() {
    if (over) return;
    source = new EventSource(last ? `${address}?after=${last}` : address);
    for (const kind in heard) source.addEventListener(kind, ({ data, lastEventId }) => { last = lastEventId; hear(kind, JSON.parse(data)); });
    source.onopen = () => { clearTimeout(missed); noteAway(false); };
    source.onerror = lost;
  }
  /** A browser tries again by itself, unless it was refused: by the server, or by a proxy in its place. */
  async function lost() {
    missed ||= setTimeout(noteAway, AWAY_MS, true);
    if (source.readyState !== EventSource.CLOSED) return;
    const answer = await ask(address);
    if (answer.ok || unreached(answer) || retryAfter(answer)) {
      answer.body?.cancel();
      setTimeout(open, REDRAW_MS);
    } else if (!over) hear("ended", { status: "error", message: "the connection was lost", ...(await answer.json().catch(() => null))?.error, isForgotten: answer.status === 404 });
  }
  open();
  return { close };
}

/** Whether an answer stands for that of a server that was not reached.
 * @param {Response} answer */
export const unreached = (answer) => answer.headers.has(UNREACHED);

const unanswered = () => Response.json({ error: { message: "the server is not responding" } }, { status: 503, headers: { [UNREACHED]: "1" } });

function fromProxy({ status, headers }) {
  return GATEWAY.includes(status) && !headers.get("Content-Type")?.includes("json") && !headers.has("Strata-Fragment");
}

/** Let the server draw a part of the page; false, after a word and a while, where it does not answer.
 * @param {string} address
 * @param {string} target
 * @param {string} source
 * @param {object} asked */
export async function drawn(address, target, source, asked) {
  try {
    await htmx.ajax("POST", address, { target, source, swap: "morph", values: { asked: JSON.stringify(asked) } });
    return true;
  } catch {
    toast("the server is not responding; still trying …");
    await pause(REDRAW_MS);
    return false;
  }
}
