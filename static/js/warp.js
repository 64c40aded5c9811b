// Accesses and matrix instructions of kernels are drawn once one is asked for.
import { toast } from "./dom.js";

export function startWarp() {
  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("[data-warp], [data-product]");
    if (!button) return;
    const panel = await import("./warp/panel.js").catch(() => null);
    if (panel) panel.choose(button);
    else toast("The server is not responding");
  });
}
