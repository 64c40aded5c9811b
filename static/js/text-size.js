// The size of code: of the script and of every listing.
import { $, announce } from "./dom.js";
import { editor } from "./editor.js";
import { recall, remember } from "./memory.js";
import { tell } from "./state.js";

const SIZES = { least: 9, usual: 12, most: 24 }; // pixels

let size = SIZES.usual;

export function startTextSize() {
  const kept = Number(recall("text-size"));
  if (kept) follow(kept);
  $("#text-smaller").addEventListener("click", () => resize(-1));
  $("#text-larger").addEventListener("click", () => resize(1));
}

/** Make code larger or smaller by some pixels; 0 brings back the usual size. */
export function resize(by) {
  show(by ? Math.min(SIZES.most, Math.max(SIZES.least, size + by)) : SIZES.usual);
  remember("text-size", String(size));
  announce(`Code size: ${size} pixels`);
  tell("shown"); // what is pinned, or the heart of a listing, would be out of sight
}

/** Take a size that was kept, here or by another page. */
export function follow(pixels) {
  if (pixels >= SIZES.least && pixels <= SIZES.most) show(pixels);
}

function show(pixels) {
  size = pixels;
  document.documentElement.style.setProperty("--code", `${size}px`);
  $("#text-size").textContent = `${size} px`;
  editor.remeasure();
}
