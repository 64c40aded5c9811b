// Runs before the first paint, so that the page never flashes in the wrong colours.
(() => {
  let stored = null;
  try {
    stored = localStorage.getItem("strata.theme");
  } catch {
    // In a frame of another site the browser may keep nothing.
  }
  const theme = stored ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.documentElement.dataset.theme = theme;
})();
