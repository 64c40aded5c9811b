// Requests to the server that always come back: one that cannot be reached answers too, in words.

const UNREACHED = "Strata-Unreached";
const GATEWAY = [502, 503, 504]; // what a proxy says in the place of a server that is gone

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

/** Post a value as JSON.
 * @param {string} address
 * @param {unknown} value */
export const post = (address, value) => ask(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) });

/** Whether an answer stands for that of a server that was not reached.
 * @param {Response} answer */
export const unreached = (answer) => answer.headers.has(UNREACHED);

const unanswered = () => Response.json({ error: { message: "the server is not responding" } }, { status: 503, headers: { [UNREACHED]: "1" } });

function fromProxy({ status, headers }) {
  return GATEWAY.includes(status) && !headers.get("Content-Type")?.includes("json") && !headers.has("Strata-Fragment");
}
