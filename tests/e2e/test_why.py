"""Why a function is as fast as it is: causes with lines and remedies, one of which is tried and measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count

from playwright.sync_api import Page, Route, expect

from tests.e2e.steps import settled, violations

DOT_PRODUCTS = """\
import tvm
from tvm import te

A = te.placeholder((256, 256), name="A")
B = te.placeholder((256, 256), name="B")
k = te.reduce_axis((0, 256), name="k")
C = te.compute((256, 256), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
s = te.create_schedule(C.op)
f = tvm.build(s, [A, B, C], "llvm -mcpu=skylake-avx512", name="matmul")
"""


def measure(page: Page, seconds: list[float]) -> None:
    """Let the server's measurements come out so, one after the other."""
    turns = count()

    def events(route: Route) -> None:
        measurement = {"name": "matmul", "kind": "kernel", "seconds": seconds[next(turns)], "spread": 0.0}
        told = [("measured", {"measurement": measurement}), ("ended", {"status": "ok", "message": ""})]
        body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in told)
        route.fulfill(status=200, content_type="text/event-stream", body=body)

    page.route("**/api/measure", lambda route: route.fulfill(json={"id": "1", "events": "/measured"}))
    page.route("**/measured", events)


ROWS = """\
import tvm
from tvm import te

A = te.placeholder((512, 512), name="A")
k = te.reduce_axis((0, 512), name="k")
B = te.compute((512,), lambda i: te.sum(A[i, k], axis=k), name="B")
s = te.create_schedule(B.op)
f = tvm.build(s, [A, B], "llvm -mcpu=skylake-avx512", name="rows")
"""


def test_a_remedy_of_two_primitives_is_written_in_two_lines(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 390, 844, script=ROWS)
    page.evaluate("document.querySelector('#why-button').click()")
    remedy = page.locator("#why li").first.locator(".remedy")
    expect(remedy).to_contain_text("io, ii = s[B].split(i, factor=16); s[B].vectorize(ii)")
    measure(page, [3.0, 1.0])
    remedy.get_by_role("button", name="Try it").click()
    expect(page.locator("#why output").first).to_contain_text("measured 3 × as fast")
    expect(page.locator(".cm-line", has_text="s[B].vectorize(ii)")).to_have_count(1)
    expect(page.locator("#state")).to_contain_text("compiled")


def test_causes_are_ranked_and_a_remedy_is_tried(explorer: str, open_page: Callable[..., Page]) -> None:
    page = open_page(explorer, 1280, 800, script=DOT_PRODUCTS)
    settled(page)
    page.click("#why-button")
    page.keyboard.press("Tab")  # to the button that closes, which the answer takes away
    first = page.locator("#why li").first
    expect(first).to_contain_text("additions of k to an element of C")
    assert page.evaluate("document.querySelector('#why').contains(document.activeElement)")
    shares = [int(share.rstrip(" %")) for share in page.locator("#why .share").all_inner_texts()]
    assert shares == sorted(shares, reverse=True)
    assert violations(page) == []
    first.locator("button.plain").first.click()
    expect(page.locator("#body-loops .l.related").filter(has_text="C_1[cse_var_1]")).not_to_have_count(0)
    measure(page, [3.0, 0.1])
    first.locator("button", has_text="Try it").click()
    expect(first.locator("output")).to_contain_text("measured 30 × as fast: held")
    expect(page.locator(".cm-content")).to_contain_text("vectorize")
    page.evaluate("document.activeElement.blur()")  # wherever one is, but in the editor
    page.keyboard.press("Escape")
    expect(page.locator("#why")).to_be_hidden()
    expect(page.locator("#why-button")).to_be_focused()
