"""Markdown as HTML: CommonMark with tables, no HTML of its own, code in the colours of the editor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from app.panes.highlighting import highlight, renew_patience

__all__ = ["parse", "render"]


def _colour(code: str, language: str, _attributes: str) -> str:
    """Return code with its colours, in a box that scrolls, by the keyboard as well."""
    lines = Markup("\n").join(highlight(code.rstrip("\n").split("\n"), language))
    return Markup('<pre tabindex="0"><code class="language-{}">{}\n</code></pre>\n').format(language, lines)


def _reader() -> MarkdownIt:
    """Return a reader that escapes HTML; addresses such as ``javascript:`` are no links."""
    return MarkdownIt("commonmark", {"html": False, "highlight": _colour}).enable(["table"])


_READER = _reader()


def parse(text: str) -> list[Token]:
    """Return the tokens of a text."""
    return _READER.parse(text)


def render(tokens: Sequence[Token] | str) -> Markup:
    """Return tokens, or a text, as HTML that is safe to show."""
    renew_patience()
    environment: dict[str, Any] = {}
    if isinstance(tokens, str):
        return Markup(_READER.render(tokens, environment))
    return Markup(_READER.renderer.render(tokens, _READER.options, environment))
