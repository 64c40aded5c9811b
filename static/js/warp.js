// Accesses and matrix instructions of kernels, and layouts of buffers, are drawn once one is asked for.
import { toast } from "./dom.js";

export function startWarp() {
  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("[data-warp], [data-product], [data-layout]");
    if (!button) return;
    const panel = await import(button.dataset.layout ? "./warp/packed.js" : "./warp/panel.js").catch(() => null);
    if (panel) panel.choose(button);
    else toast("The server is not responding");
  });
}
