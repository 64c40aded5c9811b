"""The table of converters: which ONNX operator becomes what, from which operator set on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Convert = Callable[[Any], Any]
"""``convert(node)`` returns the node's outputs: an expression, or a sequence of them."""

_TABLE: dict[tuple[str, str], dict[int, Convert]] = {}


def converter(*names: str, since: int = 1, domain: str = "") -> Callable[[Convert], Convert]:
    """Register a function as the converter of operators, from an operator set on."""

    def enter(convert: Convert) -> Convert:
        for name in names:
            _TABLE.setdefault((domain, name), {})[since] = convert
        return convert

    return enter


def converters(rows: Mapping[str, Any], make: Callable[[Any], Convert], since: int = 1) -> None:
    """Register a table of operators that differ in one value each; ``make`` turns it into the converter."""
    for name, row in rows.items():
        converter(name, since=since)(make(row))


def find(domain: str, name: str, opset: int) -> Convert | None:
    """Return the newest converter that holds for an operator set, if there is one."""
    versions = _TABLE.get((domain, name), {})
    fitting = [since for since in versions if since <= opset]
    return versions[max(fitting)] if fitting else None


def supported() -> list[str]:
    """Return the names of all operators with a converter, those of other domains with their domain."""
    return sorted(f"{domain}::{name}" if domain else name for domain, name in _TABLE)
