// A worker that wakes its page: the timers of a page that is hidden for minutes run once a minute, those of its workers in time.
let timer = 0;

/** Wake the page after some milliseconds, instead of when it said before; 0 for never. */
addEventListener("message", ({ data: milliseconds }) => {
  clearTimeout(timer);
  if (milliseconds) timer = setTimeout(() => postMessage("now"), milliseconds);
});
