// Long listings arrive in chunks: the ones near the viewport are fetched.
import { $, $$ } from "./dom.js";
import { LISTINGS } from "./panes.js";
import { on, tell } from "./state.js";

const observers = new Map();

export function startListings() {
  LISTINGS.forEach(watch);
  on("answered", () => LISTINGS.forEach(watch));
  on("text", watch);
  document.addEventListener("htmx:responseError", ({ target }) => {
    // The server has forgotten this text: another answer brings it back, once.
    if (!target.matches?.(".chunk.waiting") || target.dataset.asked) return;
    target.dataset.asked = "again";
    tell("options");
  });
  document.addEventListener("htmx:afterSettle", ({ target }) => {
    const body = target.closest?.(".code");
    if (body && target.matches(".chunk")) tell("chunk", body.dataset.pane);
  });
}

/** Fetch the chunks of a listing that come near its viewport. */
function watch(pane) {
  observers.get(pane)?.disconnect();
  const body = $(`#body-${pane}`);
  htmx.process(body);
  const near = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      htmx.trigger(target, "strata:near");
    }
  }, { root: body, rootMargin: "1500px 0px" });
  observers.set(pane, near);
  for (const chunk of $$(".chunk.waiting", body)) near.observe(chunk);
}
