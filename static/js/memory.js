// What this browser remembers for us.  In a frame of another site it may refuse to; then nothing is remembered.
const SHARED = ["theme", "text-size", "scale"]; // what the window of a pane is told in, the page is

export function remember(key, text, storage = () => localStorage) {
  if (document.body.dataset.window && !SHARED.includes(key)) return;
  try {
    storage().setItem(`strata.${key}`, text);
  } catch {
    // refused, or full
  }
}

export function recall(key, storage = () => localStorage) {
  try {
    return storage().getItem(`strata.${key}`);
  } catch {
    return null;
  }
}

/** The keys that begin with some text. */
export function remembered(beginning) {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(`strata.${beginning}`));
    return keys.map((key) => key.slice("strata.".length));
  } catch {
    return [];
  }
}

export function forget(key, storage = () => localStorage) {
  try {
    storage().removeItem(`strata.${key}`);
  } catch {
    // refused: there is nothing to forget
  }
}

/** Change between light and dark, as `theme.js` reads it on the next page. */
export function changeTheme() {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  remember("theme", theme);
}
