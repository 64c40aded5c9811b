"""What a visitor does, in words."""

from __future__ import annotations

from math import inf
from time import monotonic
from weakref import WeakKeyDictionary

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Request, Response, Route

MATMUL = """\
import tvm
from tvm import te

n = 64
A = te.placeholder((n, n), name="A")
B = te.placeholder((n, n), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

s = te.create_schedule(C.op)
i, j = C.op.axis
jo, ji = s[C].split(j, factor=16)
s[C].reorder(i, jo, k, ji)
s[C].vectorize(ji)
f = tvm.build(s, [A, B, C], target="llvm", name="matmul")
"""
CUT_OFF = """() => {
  const hides = (node) => ["hidden", "clip"].includes(getComputedStyle(node).overflowX);
  const scrolls = (node) => ["auto", "scroll"].includes(getComputedStyle(node).overflowX);
  const isOutOfSight = (node) => {
    for (let box = node.parentElement; box && !scrolls(box); box = box.parentElement)
      if (hides(box) && node.getBoundingClientRect().top > box.getBoundingClientRect().bottom - 1) return true;
    return false;
  };
  const isCut = (node) => {
    if (node.scrollWidth > node.clientWidth + 1 && hides(node)) return true;
    const { left, right } = node.getBoundingClientRect();
    for (let box = node.parentElement; box && !scrolls(box); box = box.parentElement) {
      const around = box.getBoundingClientRect();
      if (hides(box) && (right > around.right + 1 || left < around.left - 1)) return true;
    }
    return false;
  };
  const says = (node) => [...node.childNodes].some(({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim());
  const shows = (node) => node.checkVisibility() && node.clientWidth && !node.closest(".announce") && says(node);
  return [...document.querySelectorAll(".top *, .strip *, .pane-head *, .tabs *, th, label, summary, .empty")]
    .filter((node) => shows(node) && isCut(node) && !isOutOfSight(node))
    .map((node) => `${node.closest("[id]").id}: ${node.textContent.trim()}`);
}"""
"""Labels of which something is hidden and cannot be scrolled to."""
LISTEN = """() => {
  window.heard = [];
  const live = ':is([aria-live], [role="status"], [role="alert"]):not([aria-live="off"])';
  const note = ({ target }) => {
    const region = (target.nodeType === Node.TEXT_NODE ? target.parentElement : target).closest(live);
    if (region?.textContent.trim() && !region.closest("[hidden]")) window.heard.push(region.textContent.trim());
  };
  new MutationObserver((changes) => changes.forEach(note))
    .observe(document.body, { childList: true, characterData: true, subtree: true });
}"""
"""Notes what live regions say in ``window.heard``."""
SPLIT_LINE = 1 + MATMUL.splitlines().index("jo, ji = s[C].split(j, factor=16)")


def unwrap(page: Page) -> None:
    """Let lines of the editor and of listings be as long as they are."""
    page.click("#panes-menu summary")
    page.uncheck("#wrap-lines")
    page.click("#panes-menu summary")


def write(page: Page, script: str) -> None:
    """Replace the script, as pasting it would."""
    page.click(".cm-content")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(script)
    settled(page)


REACTION_MS = 100
"""How long a change may take to reach the page's own code: it waits a moment before it asks."""
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
UNREAD_SECONDS = 2.0
"""How long a page may take to read an answer; one that it has no use for any more, it leaves unread."""
unanswered: WeakKeyDictionary[Page, dict[Request, float]] = WeakKeyDictionary()
"""The requests of each page that are under way, without the streams that stay open, and when they cease to count."""


def watch(page: Page) -> None:
    """Note the requests of a page from now on, for `settled`."""
    requests = unanswered[page] = {}

    def begin(request: Request) -> None:
        if request.resource_type != "eventsource":
            requests[request] = inf

    def answer(response: Response) -> None:
        if response.request in requests:
            requests[response.request] = monotonic() + UNREAD_SECONDS

    def end(request: Request) -> None:
        requests.pop(request, None)

    page.on("request", begin)
    page.on("response", answer)
    page.on("requestfinished", end)
    page.on("requestfailed", end)


def asking(page: Page) -> list[str]:
    """Return the addresses that a watched page waits for."""
    return [request.url for request, end in unanswered[page].items() if monotonic() < end]


def settled(page: Page) -> None:
    """Wait until every request of a watched page has its answer, the newest text too, and all is painted."""
    page.wait_for_timeout(REACTION_MS)
    for _ in range(1200):
        page.wait_for_selector("body:not(.pending)")
        if not asking(page):
            page.evaluate(PAINTED)
            if not asking(page):
                return
        page.wait_for_timeout(100)
    raise AssertionError(f"no answer yet: {asking(page)}")


def refuse(page: Page, pattern: str, status: int | None, times: int) -> None:
    """Answer the next requests that match a pattern with a status alone, or not at all; the server answers those after.

    Playwright's own ``times`` ends the interception behind the last of them.  What the page asks for in that moment is
    noted as a request that will be intercepted and never is, so that neither `settled` nor an expectation sees it.
    """
    left = times

    def answer(route: Route) -> None:
        nonlocal left
        left -= 1
        if left >= 0 and status is None:
            route.abort()
        elif left >= 0:
            route.fulfill(status=status, body="")
        else:
            route.continue_()

    page.route(pattern, answer)


def reload(page: Page) -> None:
    """Open the same address again: much quicker than another page, which has nothing in its caches."""
    page.reload()
    page.wait_for_selector("html[data-ready]")


def lines(page: Page, pane: str) -> list[str]:
    """Return the lines of a listing, those out of sight too: the browser knows no inner text of them."""
    return page.locator(f"#body-{pane} .l > span").all_text_contents()


def violations(page: Page) -> list[str]:
    """Return what axe finds, with the element."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [f"{rule['id']}: {node['html']}" for rule in found for node in rule["nodes"]]
