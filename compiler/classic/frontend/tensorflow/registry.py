"""The table of converters of TensorFlow operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from compiler.classic.frontend.tensorflow.node import Node
from compiler.ir.expr import RelayExpr

Convert: TypeAlias = Callable[[Node], "RelayExpr | Sequence[RelayExpr]"]

_TABLE: dict[str, Convert] = {}


def converter(*names: str) -> Callable[[Convert], Convert]:
    """Register a function as the converter of operators."""

    def enter(convert: Convert) -> Convert:
        for name in names:
            _TABLE[name] = convert
        return convert

    return enter


def converters(rows: Mapping[str, Convert]) -> None:
    """Register a table of converters by the names of their operators."""
    for name, convert in rows.items():
        converter(name)(convert)


def find(name: str) -> Convert | None:
    """Return the converter of an operator, if there is one."""
    return _TABLE.get(name)


def supported() -> list[str]:
    """Return the names of all operators with a converter."""
    return sorted(_TABLE)
