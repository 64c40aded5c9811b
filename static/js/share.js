// Makes a link to exactly this state, and the forms of it: to read, to embed, the script alone.
import { $, announce, toast } from "./dom.js";
import { moveTo } from "./draft.js";
import { editor } from "./editor.js";
import { linkKept } from "./kept.js";
import { forget, recall, remember } from "./memory.js";
import { ask, post, unreached } from "./server.js";
import { linkedView, on, state, tell, workspaceJson } from "./state.js";

export function startShare() {
  const menu = $("#share-menu");
  menu.addEventListener("toggle", () => { if (menu.open) make(); });
  menu.addEventListener("click", ({ target }) => {
    const { copy: id } = target.dataset;
    if (id) copy($(`#${id}`).value);
    if (target.id === "shared-delete") remove();
    if (target.id === "edit-together") editTogether();
  });
  on("edited", () => { if (state.link) $("#saved").textContent = `edited since /z/${state.link}`; });
}

/** Open the menu, which makes the link; where it is open, make the link anew. */
export function share() {
  if ($("#share-menu").open) make();
  else $("#share-menu").open = true;
}

/** Say where this state is; a lesson or a challenge stays where it is. */
function address(path) {
  if (!document.body.classList.contains("teaching")) moveTo(path);
}

async function make() {
  await linkKept();
  tell("sharing");
  const response = await post("/api/links", { workspace: await workspaceJson(editor.text), view: linkedView() });
  const answer = await response.json();
  if (!response.ok) {
    $("#share-menu").open = false;
    toast(answer.error.message);
    return;
  }
  const { id } = answer;
  state.link = id;
  remember(`tokens.${id}`, `${recall(`tokens.${id}`) ?? ""} ${answer.delete_token}`.trim());
  address(`/z/${id}`);
  $("#saved").textContent = `saved · /z/${id}`;
  const link = `${location.origin}/z/${id}`;
  $("#shared-link").value = link;
  $("#shared-read").value = `${link}?view=read`;
  $("#shared-embed").value = `<iframe src="${link}?view=embed" width="100%" height="640" title="Strata"></iframe>`;
  $("#shared-code").value = `${link}/code`;
  $("#shared-challenge").value = `${location.origin}/challenges/own-${id}`;
  $("#shared-link").select();
  announce(`The link is ${link}`);
}

/** Let others take part in this workspace. */
async function editTogether() {
  $("#share-menu").open = false;
  const link = await (await import("./live/session.js")).startTogether();
  if (link) copy(link);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied ${text}`);
  } catch {
    toast(`The link is ${text}`); // the browser does not let us copy; the menu has it too
  }
}

/** Take the link back, with every token that this browser got for it; what others shared too stays for them. */
async function remove() {
  const { link } = state;
  const tokens = (recall(`tokens.${link}`) ?? "").split(" ").filter(Boolean);
  for (const token of tokens) {
    const answer = await ask(`/api/links/${link}`, { method: "DELETE", headers: { "X-Delete-Token": token } });
    if (unreached(answer)) return toast((await answer.json()).error.message);
  }
  forget(`tokens.${link}`);
  state.link = "";
  address("/");
  $("#saved").textContent = "";
  $("#share-menu").open = false;
  return toast("The link is deleted, unless others shared the same content");
}
