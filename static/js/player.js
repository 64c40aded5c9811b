// Opens the player; its modules are loaded once its pane is on the page.
import { $, toast } from "./dom.js";
import { on } from "./state.js";

export function startPlayer() {
  on("shown", () => { if ($("#body-player").clientHeight > 0) inPane(({ open }) => open()); });
  $("#player-load").addEventListener("click", () => inPane(({ load }) => load()));
}

async function inPane(act) {
  const pane = await import("./player/pane.js").catch(() => null);
  if (pane) act(pane);
  else toast("The server is not responding");
}
