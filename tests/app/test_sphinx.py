"""The directive for books: a link in a frame in HTML, and the caption with the link elsewhere."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
from docutils.core import publish_string
from docutils.parsers.rst import directives

PLACE = Path(__file__).parents[2] / "app" / "deployment" / "strata_explorer" / "sphinx.py"
LINK = "https://strata.example/z/1a2b3c4d"


@pytest.fixture
def published() -> Callable[[str, str], str]:
    """Return what docutils makes of a text in a format, with the directive that Sphinx would register."""
    spec = importlib.util.spec_from_file_location("strata_sphinx", PLACE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

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
