// Files that lie beside the script: attached by button or by dropping them on the page.
import { $, $$, element, toast } from "./dom.js";
import { editor } from "./editor.js";
import { state, tell } from "./state.js";

const MOST = 32 * 1024 * 1024;

export function startFiles() {
  $("#attach").addEventListener("change", ({ target }) => { take([...target.files]); target.value = ""; });
  let depth = 0;
  const cover = (shown) => { $("#drop").hidden = !shown; };
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragenter", (event) => { if (carries(event)) { depth += 1; cover(true); } });
  document.addEventListener("dragleave", (event) => { if (carries(event)) { depth -= 1; cover(depth > 0); } });
  document.addEventListener("dragover", (event) => { if (carries(event)) event.preventDefault(); });
  document.addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth = 0;
    cover(false);
    take([...event.dataTransfer.files]);
  }, true);
  draw();
}

async function take(files) {
  if (files.length === 1 && files[0].name.endsWith(".py")) {
    editor.text = await files[0].text();
    return;
  }
  const size = [...state.files.values(), ...files].reduce((sum, file) => sum + file.size, 0);
  if (size > MOST) {
    toast("Attached files may be 32 MB together");
    return;
  }
  for (const file of files) state.files.set(file.name, file);
  draw();
  tell("options");
}

function draw() {
  $$(".file").forEach((old) => old.remove());
  for (const name of state.files.keys()) {
    const remove = element("button", { type: "button", "aria-label": `Remove ${name}` }, "✕");
    remove.addEventListener("click", () => { state.files.delete(name); draw(); tell("options"); });
    $("#attached").append(element("span", { class: "file" }, name, remove));
  }
}
