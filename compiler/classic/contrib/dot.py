"""The language of Graphviz, DOT, as text; drawing it needs Graphviz' program ``dot``, writing it does not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_PLAIN = re.compile(r"(?!(?i:node|edge|graph|digraph|subgraph|strict)$)[A-Za-z_][A-Za-z0-9_]*|-?(\.\d+|\d+(\.\d*)?)")
"""What stands without quotes."""


class Html(str):
    """A label of Graphviz' HTML: its text is escaped by who writes it."""

    __slots__ = ()


def quoted(text: str) -> str:
    """Return text as an identifier or label."""
    if isinstance(text, Html):
        return f"<{text}>"
    if _PLAIN.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def attributes(values: Mapping[str, str]) -> str:
    """Return the list of the attributes of a graph, a node or an edge."""
    return f"[{' '.join(f'{key}={quoted(value)}' for key, value in values.items())}]"


def digraph(name: str, lines: Iterable[str]) -> str:
    """Return a directed graph."""
    return "\n".join([f"digraph {quoted(name)} {{", *(f"  {line}" for line in lines), "}", ""])


def table(rows: Iterable[Iterable[str]]) -> Html:
    """Return a label that is a table."""
    body = "".join(f"<TR>{''.join(row)}</TR>" for row in rows)
    return Html(f'<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="4">{body}</TABLE>')
