// The page of the API: sends the examples, as they are edited, and shows what comes back.
import { $$, element } from "../dom.js";

/** Characters of an answer that are shown. */
const SHOWN = 20_000;
const HEADERS = ["RateLimit", "Retry-After", "X-Request-ID"];

async function send(form) {
  const body = form.elements.body?.value;
  const headers = body === undefined ? {} : { "Content-Type": "application/json" };
  const output = form.querySelector("output");
  output.replaceChildren("waiting …");
  try {
    const response = await fetch(form.elements.path.value, { method: form.dataset.method, body, headers });
    const text = await response.text();
    const told = HEADERS.filter((name) => response.headers.has(name)).map((name) => `${name}: ${response.headers.get(name)}`);
    output.replaceChildren(
      element("p", { class: "hint" }, [`${response.status} ${response.statusText}`, ...told].join(" · ")),
      element("pre", { tabindex: "0" }, readable(text, response.headers.get("Content-Type") ?? "")),
    );
  } catch (error) {
    output.replaceChildren(`The request failed: ${error.message}`);
  }
}

function readable(text, media) {
  const whole = media.startsWith("application/json") ? JSON.stringify(JSON.parse(text), null, 2) : text;
  return whole.length > SHOWN ? `${whole.slice(0, SHOWN)}\n… ${(whole.length - SHOWN).toLocaleString()} characters more` : whole;
}

for (const form of $$(".api-try")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
}
