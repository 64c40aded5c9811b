// Runs before the first paint, so that the page never flashes in the wrong colours.  A page that frames this one may ask
// for its own theme by `?theme=dark`; what the visitor has chosen stays as it is elsewhere.
(() => {
  const asked = new URLSearchParams(location.search).get("theme");
  let stored = null;
  try {
    stored = localStorage.getItem("strata.theme");
  } catch {
    // In a frame of another site the browser may keep nothing.
  }
  const theme = ["light", "dark"].includes(asked) ? asked : stored ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.documentElement.dataset.theme = theme;
})();
