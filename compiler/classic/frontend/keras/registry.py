"""The tables of converters of layers and of functions of ``keras.ops``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from compiler.classic.frontend.keras.layer import Layer
from compiler.classic.frontend.keras.reader import Operation, is_layer, kind_of
from compiler.ir.expr import RelayExpr

Convert: TypeAlias = Callable[[Layer], "RelayExpr | Sequence[RelayExpr]"]

_LAYERS: dict[str, Convert] = {}
_FUNCTIONS: dict[str, Convert] = {}
_MASKED: set[str] = set()


def converter(*names: str, masks: bool = False) -> Callable[[Convert], Convert]:
    """Register a function as the converter of layers by the names of their classes, e.g. ``Conv2D``."""

    def enter(convert: Convert) -> Convert:
        converters(dict.fromkeys(names, convert), masks)
        return convert

    return enter


def converters(rows: Mapping[str, Convert], masks: bool = False) -> None:
    """Register converters by layer names."""
    _LAYERS.update(rows)
    if masks:
        _MASKED.update(rows)


def functions(rows: Mapping[str, Convert]) -> None:
    """Register converters of functions of ``keras.ops`` by the names of their operations.

    Some of these are also names of layers: ``Softmax``.
    """
    _FUNCTIONS.update(rows)


def find(operation: Operation) -> Convert | None:
    """Return the converter of a layer or function, if there is one."""
    return (_LAYERS if is_layer(operation) else _FUNCTIONS).get(kind_of(operation))


def takes_masks(name: str) -> bool:
    """Return whether the converter of a layer supports masks."""
    return name in _MASKED


def supported() -> list[str]:
    """Return the names of all layers and functions with a converter."""
    return sorted(_LAYERS.keys() | _FUNCTIONS.keys())
