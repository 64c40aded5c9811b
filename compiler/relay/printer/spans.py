"""Where expressions come from, as comments of the text format say it."""

from __future__ import annotations

from compiler.ir.origin import Origin, Span, named_origins

MAX_SOURCES = 4
"""Sources that a comment names; a kernel of many layers says how many more there are."""
MAX_NAME = 120
"""Characters of a source's name."""


def span_text(span: Span) -> list[str]:
    """Return ``span=name:line:column`` in a list, or an empty list for a span without named sources.

    A layer of an imported model has line and column 0; several sources stand in the order of the model, as in
    ``nn.relu(%0) /* span=conv1:0:0, relu1:0:0 */``.
    """
    sources = list(dict.fromkeys(map(_source_text, named_origins(span))))
    if not sources:
        return []
    more = len(sources) - MAX_SOURCES
    return [f"span={', '.join(sources[:MAX_SOURCES])}{f' and {more} more' if more > 0 else ''}"]


def _source_text(origin: Origin) -> str:
    """Return a source as text; names come from files, and must neither end the comment nor break the line."""
    line, column = (origin.location.line, origin.location.column) if origin.location else (0, 0)
    name = "".join(c if c.isprintable() else "?" for c in origin.name[:MAX_NAME]).replace("*/", "*?")
    return f"{name}:{line}:{column}"
