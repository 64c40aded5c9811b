"""Markdown rendering: CommonMark with tables and highlighted code, without raw HTML."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup

from app.panes.highlighting import highlight, renew_budget

__all__ = ["parse", "render"]


def _colour(code: str, language: str, _attributes: str) -> str:
    """Render highlighted code in a scrollable, focusable box, as a plain string: Markup escapes what it is added to."""
    lines = Markup("\n").join(highlight(code.rstrip("\n").split("\n"), language))
    return str(Markup('<pre tabindex="0"><code class="language-{}">{}\n</code></pre>\n').format(language, lines))


def _image(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    options: OptionsDict,
    environment: MutableMapping[str, Any],
) -> str:
    """Render an image; one on another host becomes a link, as pages load nothing from other hosts."""
    address = str(tokens[index].attrGet("src"))
    if address.startswith("data:") or (address.startswith("/") and not address.startswith("//")):
        return renderer.image(tokens, index, options, environment)
    return str(Markup('<a href="{}">{}</a>').format(address, tokens[index].content or address))


def _reader() -> MarkdownIt:
    """Create a parser that escapes HTML and rejects URLs such as ``javascript:``."""
    reader = MarkdownIt("commonmark", {"html": False, "highlight": _colour}).enable(["table"])
    reader.add_render_rule("image", _image)
    return reader


_READER = _reader()


def parse(text: str) -> list[Token]:
    """Parse Markdown into tokens."""
    return _READER.parse(text)


def render(tokens: Sequence[Token] | str) -> Markup:
    """Render tokens or Markdown as safe HTML."""
    renew_budget()
    environment: dict[str, Any] = {}
    if isinstance(tokens, str):
        return Markup(_READER.render(tokens, environment))
    return Markup(_READER.renderer.render(tokens, _READER.options, environment))
