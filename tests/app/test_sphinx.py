"""The directive for books: a link in a frame in HTML, and the caption with the link elsewhere."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from docutils.core import publish_string
from docutils.parsers.rst import directives

PLACE = Path(__file__).parents[2] / "app" / "deployment" / "strata_explorer" / "sphinx.py"
LINK = "https://strata.example/z/1a2b3c4d"


def loaded() -> ModuleType:
    """Return the module that Sphinx imports as ``strata_explorer.sphinx``."""
    spec = importlib.util.spec_from_file_location("strata_sphinx", PLACE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def published() -> Callable[[str, str], str]:
    """Return what docutils makes of a text in a format, with the directive that Sphinx would register."""
    module = loaded()

    class Application:
        def add_directive(self, name: str, directive: type) -> None:
            directives.register_directive(name, directive)

    assert module.setup(Application())["parallel_read_safe"]
    return lambda text, writer: publish_string(text, writer=writer, settings_overrides={"output_encoding": "unicode"})


def test_a_link_is_a_frame_with_a_caption(published: Callable[[str, str], str]) -> None:
    text = f'.. strata:: {LINK}\n   :pane: asm\n   :theme: dark\n   :height: 300\n\n   A "loop" & more.\n'
    page = published(text, "html")
    assert f'src="{LINK}?view=embed&amp;pane=asm&amp;theme=dark"' in page
    assert 'height="300"' in page
    assert 'title="A &quot;loop&quot; &amp; more."' in page
    assert f'href="{LINK}"' in page
    assert "iframe" not in published(text, "latex")


@pytest.mark.parametrize("link", ["javascript:alert(1)", "https://strata.example/learn", 'https://x/z/a"onload="'])
def test_what_is_no_link_is_told(link: str, published: Callable[[str, str], str]) -> None:
    page = published(f".. strata:: {link}\n", "html")
    assert "expected a link such as" in page
    assert "<iframe" not in page


def test_a_caption_keeps_its_markup(published: Callable[[str, str], str]) -> None:
    caption = "   The *inner* loop, ``k``.\n\n   See `TVM <https://tvm.apache.org>`_.\n"
    page = published(f".. strata:: {LINK}\n\n{caption}\n.. strata:: {LINK}\n", "html5")
    assert "The <em>inner</em> loop" in page
    assert 'loop, k. See TVM."' in page, "the frame has them as text"
    assert '<a class="reference external" href="https://tvm.apache.org">TVM</a>. <a class' in page
    assert f'<p><a class="reference external" href="{LINK}">' in page, "no space where there is no caption"
    assert "paragraphs only, got a bullet_list" in published(f".. strata:: {LINK}\n\n   - one\n", "html")


def test_without_docutils_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docutils", None)
    with pytest.raises(ImportError, match=r"needs docutils, .* the extra strata-explorer\[sphinx\]"):
        loaded()
