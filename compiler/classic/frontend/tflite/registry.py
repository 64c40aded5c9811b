"""The table of converters of TensorFlow Lite operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from compiler.classic.frontend.tflite.node import Node
from compiler.ir.expr import RelayExpr

Convert: TypeAlias = Callable[[Node], "RelayExpr | Sequence[RelayExpr]"]

_TABLE: dict[str, Convert] = {}
_MOVES: set[str] = set()
_PASSES_ON: set[str] = set()
_QUANTIZED: dict[str, Convert] = {}


def converter(*names: str, moves: bool = False) -> Callable[[Convert], Convert]:
    """Register a function as the converter of operators.

    Those that only move or select elements need no dequantized tensors if the scale stays the same.
    """

    def enter(convert: Convert) -> Convert:
        for name in names:
            _TABLE[name] = convert
            if moves:
                _MOVES.add(name)
        return convert

    return enter


def converters(rows: Mapping[str, Convert], moves: bool = False) -> None:
    """Register a table of converters by the names of their operators."""
    for name, convert in rows.items():
        converter(name, moves=moves)(convert)


def graph_runner(*names: str) -> Callable[[Convert], Convert]:
    """Register a converter of operators that pass their inputs to subgraphs without dequantization."""
    _PASSES_ON.update(names)
    return converter(*names)


def quantized_converter(*names: str) -> Callable[[Convert], Convert]:
    """Register a converter of operators on quantized tensors, beside their floating-point converter."""

    def enter(convert: Convert) -> Convert:
        _QUANTIZED.update(dict.fromkeys(names, convert))
        return convert

    return enter


def find_quantized(name: str) -> Convert | None:
    """Return the converter of an operator on quantized tensors, if there is one."""
    return _QUANTIZED.get(name)


def find(name: str) -> Convert | None:
    """Return the converter of an operator, if there is one."""
    return _TABLE.get(name)


def moves_elements(name: str) -> bool:
    """Return whether an operator only moves or selects elements."""
    return name in _MOVES


def passes_on(name: str) -> bool:
    """Return whether an operator passes its inputs to subgraphs unchanged."""
    return name in _PASSES_ON


def supported() -> list[str]:
    """Return the names of all operators with a converter."""
    return sorted(_TABLE)
