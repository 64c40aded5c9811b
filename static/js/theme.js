// Runs before the first paint, so that the page never flashes in the wrong colours.
(() => {
  const kept = localStorage.getItem("strata.theme");
  const wanted = kept ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.documentElement.dataset.theme = wanted;
})();
