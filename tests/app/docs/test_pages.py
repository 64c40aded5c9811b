"""Pages of documentation: anchors, links between them, and the search."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.docs import Library, search
from app.docs.library import PAGES, ROOT
from app.docs.page import Page, read_page

DOCUMENTED = Library("/static/{}".format)
"""The project's own, read when a test asks for its pages: no other process needs them."""
HOME = {"app/GUIDE.md": "/docs/explorer", "app/README.md": "/docs/inside"}


def page(text: str, path: str = "app/README.md") -> Page:
    return read_page("here", path, "", text, HOME, "/static/{}".format)


def test_all_pages_are_there() -> None:
    assert list(DOCUMENTED.pages) == [name for name, _, _ in PAGES]


def test_pages_whose_files_are_not_installed_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Start\n\nSee [the guide](app/GUIDE.md).\n")
    [(name, only)] = Library(str, tmp_path).pages.items()
    assert (name, only.title) == ("start", "Start")
    assert "href" not in only.body
    assert "See the guide." in only.body


@pytest.mark.parametrize("name", [name for name, _, _ in PAGES])
def test_links_between_pages_lead_somewhere(name: str) -> None:
    shown = DOCUMENTED.pages[name]
    for target in re.findall(r'href="(/docs/[^"]*|#[^"]*)"', shown.body):
        address, _, anchor = target.partition("#")
        there = DOCUMENTED.pages[address.removeprefix("/docs/")] if address else shown
        assert not anchor or anchor in {section.anchor for section in there.sections}, target
    for source in re.findall(r'src="([^"]*)"', shown.body):
        assert (ROOT / source.removeprefix("/")).is_file()


def test_headings_have_anchors_of_their_own() -> None:
    read = page("# Title\n\n## To add a *pane*\n\na\n\n## To add a pane\n\nb\n")
    assert [(s.level, s.anchor) for s in read.sections] == [(1, "title"), (2, "to-add-a-pane"), (2, "to-add-a-pane-2")]
    assert '<h2 id="to-add-a-pane-2">' in read.body
    assert "<h1" not in read.body


def test_links_lead_to_pages_and_files_of_the_code_are_only_named() -> None:
    links = "[guide](GUIDE.md#tips), [here](#t), [file](errors.py), [out](https://example.org/)"
    read = page(f"# T\n\n{links} ![p](../static/p.png)\n")
    assert re.findall(r'href="([^"]*)"', read.body) == ["/docs/explorer#tips", "#t", "https://example.org/"]
    assert ", file, " in read.body
    assert 'src="/static/p.png"' in read.body


def test_comments_for_other_programs_are_not_shown() -> None:
    assert "marker" not in page("# T\n\n<!-- marker -->\ntext\n").body


def test_the_search_finds_sections_by_the_beginnings_of_all_words() -> None:
    pages = [page("# T\n\n## Loops\n\nSplit and vectorize them.\n\n## Vectors\n\nA split of a long line.\n")]
    assert [hit.section.title for hit in search(pages, "VECT split")] == ["Vectors", "Loops"], "titles first"
    assert [hit.section.title for hit in search(pages, "ize")] == []
    assert search(pages, " ?! ") == []
    [hit] = search(pages, "vectorize")
    assert hit.excerpt == [("Split and ", False), ("vectorize", True), (" them.", False)]


def test_what_is_searched_for_is_no_pattern() -> None:
    assert [hit.section.title for hit in search([page("# T\n\nf.build here\n")], "f.b")] == ["T"]
    assert search([page("# T\n\nfxbuild here\n")], "f.b") == []
