"""PTX and SASS for an architecture that is chosen by its name or a GPU's, where NVIDIA's compilers are installed."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from compiler.target.cuda_tools.tools import missing_tools
from tests.e2e.steps import settled
from tests.e2e.test_webgpu import SCALE

with_tools = pytest.mark.skipif(bool(missing_tools()), reason=missing_tools() or "none")
without_tools = pytest.mark.skipif(not missing_tools(), reason="NVIDIA's compilers are installed")


@pytest.fixture
def page(explorer: str, browser: Browser, open_page: Callable[..., Page]) -> Page:
    """A small kernel, with the SASS pane open."""
    body = {"workspace": {"script": SCALE, "options": {"sass": True}}, "view": {"opened": "sass"}}
    context = browser.new_context()
    made = context.request.post(f"{explorer}/api/links", data=body).json()
    context.close()
    return open_page(f"{explorer}/z/{made['id']}", 1680)


def choose(page: Page, typed: str) -> None:
    """Type an architecture into the field of the PTX pane, as a visitor who knows a part of its name."""
    page.fill("#arch", typed)
    page.keyboard.press("Enter")


def bring_to_front(page: Page, pane: str) -> None:
    """Show a pane that may be behind another one of its tabs."""
    if not page.locator(f"#body-{pane}").is_visible():
        page.click(f"[data-front={pane}]")


@with_tools
def test_sass_leads_back_to_loops_and_script(page: Page) -> None:
    store = page.locator("#body-sass .l", has_text="STG")
    expect(store).to_have_count(1)
    expect(page.locator("#facts-sass")).to_contain_text(re.compile(r"\d+ registers"))
    expect(page.locator("#facts-sass")).to_contain_text("0 spilled bytes")
    expect(page.locator("#facts-sass")).to_contain_text(re.compile(r"occupancy \d+%, limited by \w+"))
    bring_to_front(page, "sass")
    expect(store).to_contain_text(re.compile(r"/\* [0-5-]{6}  [0-5-]  [0-5-] [y-] [ \d]\d \*/"))
    store.locator(".k").hover()
    expect(page.locator("#tip")).to_contain_text("Stores to the memory of the GPU")
    expect(page.locator("#tip")).to_contain_text("at the earliest")
    for pane, words in (("ptx", "st.global"), ("kernel", "B["), ("loops", "B_1[")):
        expect(page.locator(f"#body-{pane} .l.related", has_text=words)).to_have_count(1)
    expect(page.locator(".cm-line.related", has_text="te.compute")).to_have_count(1)


@pytest.mark.long
def test_sass_is_asked_for_again_after_a_reload(explorer: str, open_page: Callable[..., Page]) -> None:
    def asks(request: Request) -> bool:
        return request.url.endswith("/panes") and '"sass":true' in (request.post_data or "")

    page = open_page(f"{explorer}/?example=gpu-threads", 1680)
    page.click("#panes-menu summary")
    with page.expect_request(asks):
        page.locator("#panes-menu label", has_text="SASS").click()
    settled(page)
    with page.expect_request(asks):
        page.goto(f"{explorer}/?example=gpu-threads")
    settled(page)
    page.click("#panes-menu summary")  # so is whatever else is made on request
    page.locator("#panes-menu label", has_text="Today’s TVM").click()
    expect(page.locator("#body-tvm .l", has_text="sch.bind(")).not_to_have_count(0)


@with_tools
def test_kernels_are_saved_from_the_menus_of_their_panes(page: Page) -> None:
    expect(page.locator("#body-sass .l", has_text="STG")).to_have_count(1)
    saved = {"kernel": ("This text", ".cu"), "ptx": ("This text", ".ptx"), "sass": ("This text", ".sass")}
    for pane, (title, suffix) in [*saved.items(), ("sass", ("Machine code (.cubin)", ".cubin"))]:
        bring_to_front(page, pane)
        page.click(f"[data-save={pane}]")
        with page.expect_download() as download:
            page.locator("#save-menu").get_by_text(title, exact=True).click()
        assert download.value.suggested_filename == f"main{suffix}"
    assert download.value.path().read_bytes().startswith(b"\x7fELF")


@with_tools
def test_the_architecture_is_chosen_by_its_name_or_a_gpu_s(page: Page, open_page: Callable[..., Page]) -> None:
    ptx = page.locator("#body-ptx .l", has_text=".target")
    expect(ptx).to_contain_text("sm_90")
    for typed, arch in (("3090", "sm_86"), ("sm_120", "sm_120")):
        choose(page, typed)
        expect(page.locator("#arch")).to_have_value(arch)
        expect(ptx).to_contain_text(arch)
        expect(page.locator("#body-sass .l", has_text="STG")).to_have_count(1)
    choose(page, "no such GPU")
    expect(page.locator("#arch")).to_have_value("sm_120")
    page.click("#share-menu summary")
    expect(page.locator("#shared-link")).to_have_value(re.compile("/z/"))
    again = open_page(page.locator("#shared-link").input_value(), 1680)
    expect(again.locator("#body-ptx .l", has_text=".target")).to_contain_text("sm_120")
    expect(again.locator("#body-sass .l", has_text="STG")).to_have_count(1)


@without_tools
@pytest.mark.long
def test_without_the_compilers_ptx_is_llvm_s_and_the_page_says_what_to_install(page: Page) -> None:
    expect(page.locator("#body-ptx .l", has_text=".target")).to_contain_text("sm_90")
    expect(page.locator("#body-sass .empty")).to_contain_text("pip install 'strata-explorer[cuda]'")
    expect(page.locator("#pane-console")).to_contain_text("NVIDIA's compilers")
    choose(page, "3090")
    expect(page.locator("#body-ptx .l", has_text=".target")).to_contain_text("sm_86")
