"""The table of converters: which layer of Keras becomes what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.keras.layer import Layer

__all__ = ["Convert", "converter", "converters", "find", "supported"]

Convert: TypeAlias = Callable[[Layer], "RelayExpr | Sequence[RelayExpr]"]

_TABLE: dict[str, Convert] = {}


def converter(*names: str) -> Callable[[Convert], Convert]:
    """Register a function as the converter of layers.

    Parameters
    ----------
    names : str
        Names of classes of Keras, e.g. ``Conv2D``.
    """

    def enter(convert: Convert) -> Convert:
        _TABLE.update(dict.fromkeys(names, convert))
        return convert

    return enter


def converters(rows: Mapping[str, Convert]) -> None:
    """Register a table of converters by the names of their layers."""
    _TABLE.update(rows)


def find(name: str) -> Convert | None:
    """Return the converter of a layer, if there is one."""
    return _TABLE.get(name)


def supported() -> list[str]:
    """Return the names of all layers with a converter."""
    return sorted(_TABLE)
