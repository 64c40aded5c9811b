// What this tab holds: the workspace, the view, and who it is to the server.
import { readJson } from "./dom.js";

function name() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const decode = (base64) => new Blob([Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))]);

const page = readJson("page-data");

export const state = {
  tab: name(),
  seq: 0,
  options: { ...page.options },
  files: new Map(Object.entries(page.files).map(([file, content]) => [file, decode(content)])),
  uploads: new Map(Object.entries(page.uploads)), // name -> hash of a file that the server stores
  view: { unit: -1, of_graph: -1, ...page.view }, // and by pane the chosen step; what is not there is as by default
  link: page.link,
  made: page.made, // what the link was made with
  here: page.here, // what this server compiles with
  compiled: page.compiled,
};

/**
 * Messages between modules.  Of the workspace: "edited", "options".  Of answers: "answered", "text", "chunk", "labelled".
 * Of places: "source-lines", "source-pin", "cursor", "goto", "reveal", "unpin", "shown".
 */
const bus = new EventTarget();
export const tell = (name, detail) => bus.dispatchEvent(new CustomEvent(name, { detail }));
export const on = (name, listener) => bus.addEventListener(name, (event) => listener(event.detail));

/** The workspace as the JSON API wants it. */
export async function workspaceJson(script) {
  const files = {};
  for (const [file, blob] of state.files) {
    const bytes = new Uint8Array(await blob.arrayBuffer());
    let text = "";
    for (let start = 0; start < bytes.length; start += 0x8000) text += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
    files[file] = btoa(text);
  }
  return { script, files, uploads: Object.fromEntries(state.uploads), options: state.options };
}
