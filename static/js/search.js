// Opens the search of schedules; its module is loaded once its pane is on the page, or the kernels of a model are searched.
import { $, toast } from "./dom.js";
import { on } from "./state.js";

export function startSearch() {
  const look = () => { if ($("#pane-search").offsetParent) inPane(({ open }) => open()); };
  on("shown", look);
  look(); // it is open from the beginning
  document.addEventListener("click", ({ target }) => { if (target.id === "search-kernels") inPane(({ searchModel }) => searchModel()); });
}

async function inPane(act) {
  const pane = await import("./search/pane.js").catch(() => null);
  if (pane) act(pane);
  else toast("The server is not responding");
}
