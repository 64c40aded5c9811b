// What a page and the windows of its panes tell each other: script, setting and what is lit are the same everywhere.
import { editor } from "../editor.js";
import { replace } from "../live/marks.js";
import { arrange, compared, setting } from "../live/setting.js";
import { on, tell } from "../state.js";
import { follow } from "../text-size.js";

let channel = null;
let hearing = false; // whether what happens here is what another page told
let told = ""; // the setting that the others have

/** Tell the others.
 * @param {object} message */
export function say(message) {
  if (!hearing) channel.postMessage(message);
}

const HEARD = {
  script: replace,
  setting(theirs) {
    arrange(theirs);
    told = compared();
  },
  light: (lit) => tell("light", lit),
};
const KEPT = {
  "strata.theme": (theme) => { document.documentElement.dataset.theme = theme; },
  "strata.text-size": (size) => follow(Number(size)),
};

/** Begin to tell and to hear.
 * @param {string} page its name
 * @param {Record<string, (value: any) => void>} heard what else is heard, by the name of its part of a message */
export function link(page, heard) {
  channel = new BroadcastChannel(`strata.${page}`);
  const parts = Object.entries({ ...HEARD, ...heard });
  channel.onmessage = ({ data }) => {
    hearing = true;
    try {
      for (const [name, hear] of parts) if (name in data) hear(data[name]);
    } finally {
      hearing = false;
    }
  };
  told = compared();
  on("edited", () => say({ script: editor.text }));
  for (const event of ["options", "text"]) on(event, saySetting);
  on("lit", (light) => say({ light }));
  addEventListener("storage", ({ key, newValue }) => { if (newValue) KEPT[key]?.(newValue); });
}

async function saySetting() {
  if (hearing || compared() === told) return;
  told = compared();
  channel.postMessage({ setting: await setting() });
}
