// The public API as the server reads it off the package: names, and what stands behind an expression of the script.

/** @typedef {{label: string, type: "namespace" | "class" | "function" | "constant", detail?: string}} Name */

/** @type {Map<string, Promise<Name[]>>} */
const lists = new Map();
/** @type {Map<string, Promise<string>>} */
const texts = new Map();
/** @type {Map<string, Promise<string>>} */
const types = new Map();
const MOST_TYPES = 200;

/** Variables that programs usually call so. */
const USUAL = { s: "tvm.te.Schedule", sch: "tvm.te.Schedule", sched: "tvm.te.Schedule", schedule: "tvm.te.Schedule", mod: "tvm.IRModule" };
const STAGE = "tvm.te.Stage"; // what `s[C]` is

function fetched(cache, key, address, read, request) {
  if (!cache.has(key)) {
    const answer = fetch(address, request).then((response) => (response.ok ? read(response) : null)).catch(() => null);
    cache.set(key, answer);
    answer.then((value) => { if (value === null) cache.delete(key); });
  }
  return cache.get(key);
}

/** The names that a module or class offers.
 * @param {string} owner public name, e.g. `tvm.relay`
 * @returns {Promise<Name[]>} */
export async function namesOf(owner) {
  return (await fetched(lists, owner, `/completions/${owner}`, (response) => response.json())) ?? [];
}

/** The documentation of a public name, as an element.
 * @param {string} name
 * @returns {Promise<HTMLElement | null>} */
export async function documentation(name) {
  const html = await fetched(texts, name, `/documentation/${name}`, (response) => response.text());
  if (!html) return null;
  const holder = document.createElement("template");
  holder.innerHTML = html; // rendered and escaped by our own server
  return holder.content.firstElementChild;
}

/** What a script calls the modules, classes and functions that it imports: its name for each -> the public name.
 * @param {string} script
 * @returns {Map<string, string>} */
export function importsOf(script) {
  const names = new Map();
  for (const [, module, listed] of script.matchAll(/^[ \t]*from[ \t]+(tvm(?:\.\w+)*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)/gm)) {
    for (const [, name, alias] of listed.matchAll(/(\w+)(?:[ \t]+as[ \t]+(\w+))?/g)) names.set(alias ?? name, `${module}.${name}`);
  }
  for (const [, module, alias] of script.matchAll(/^[ \t]*import[ \t]+(tvm(?:\.\w+)*)(?:[ \t]+as[ \t]+(\w+))?/gm)) {
    names.set(alias ?? "tvm", alias ? module : "tvm");
  }
  return names;
}

/** What a public name and the parts after it stand for, or null where they are none. */
async function walk(root, rest) {
  if (!root) return null;
  let found = { name: "tvm", type: "namespace" };
  for (const part of [...root.split(".").slice(1), ...rest]) {
    const next = (await namesOf(found.name)).find(({ label }) => label === part);
    if (!next) return null;
    found = { name: `${found.name}.${part}`, type: next.type };
  }
  return found;
}

/** What a script imports by a name; `relay` and its kin are meant although nothing imports them yet. */
async function moduleOf(name, script) {
  const known = importsOf(script).get(name);
  if (known || name === "tvm") return known ?? name;
  return (await namesOf("tvm")).some(({ label, type }) => label === name && type === "namespace") ? `tvm.${name}` : null;
}

/** The public name of the class that an expression has, which the server finds by reading the script.
 * @param {string} script
 * @param {number} end where the expression ends in it
 * @returns {Promise<string>} empty where it is nothing of the public API */
async function typeOf(script, end) {
  const body = JSON.stringify({ text: script.slice(0, end), rest: script.slice(end) });
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body };
  if (types.size > MOST_TYPES) types.clear();
  return (await fetched(types, body, "/types", async (response) => (await response.json()).name, request)) ?? "";
}

/** The public name that an expression stands for, or that of its class; null where it is none.
 * @param {string} expression the names that end it, such as `relay.nn`; one that ends a subscript or call begins with `]` or `)`
 * @param {string} script
 * @param {number} end where the expression ends in the script
 * @returns {Promise<string | null>} */
export async function resolve(expression, script, end) {
  const [first, ...rest] = expression.split(".");
  const named = /\w/.test(first) && (await walk(await moduleOf(first, script), rest));
  if (named) return named.name;
  const last = rest.pop();
  const owner = last === undefined ? "" : await typeOf(script, end - last.length - 1);
  const member = owner && (await walk(owner, [last]));
  if (member && member.type !== "constant") return member.name;
  const type = await typeOf(script, end);
  return type || member?.name || (await usual(first, last === undefined ? rest : [...rest, last]));
}

/** What a variable is usually called so for, where nothing says what it is. */
async function usual(first, rest) {
  return (await walk(first === "]" ? STAGE : USUAL[first], rest))?.name ?? null;
}
