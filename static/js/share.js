// Makes a link to exactly this state.
import { $, toast } from "./dom.js";
import { editor } from "./editor.js";
import { on, state, workspaceJson } from "./state.js";

export async function share() {
  const view = Object.fromEntries(Object.entries(state.view).filter(([name, value]) => value !== "" && !(name === "unit" && value < 0)));
  const body = JSON.stringify({ workspace: await workspaceJson(editor.text), view });
  const response = await fetch("/api/links", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  const answer = await response.json();
  if (!response.ok) {
    toast(answer.error.message);
    return;
  }
  state.link = answer.id;
  history.replaceState(null, "", `/z/${answer.id}`);
  $("#saved").textContent = `saved · /z/${answer.id}`;
  const address = `${location.origin}/z/${answer.id}`;
  try {
    await navigator.clipboard.writeText(address);
    toast(`Copied ${address}`);
  } catch {
    toast(`The link is ${address}`); // the browser does not let us copy; the address bar has it
  }
}

export function startShare() {
  $("#share-button").addEventListener("click", share);
  on("edited", () => { if (state.link) $("#saved").textContent = `edited since /z/${state.link}`; });
}
