"""Checks argument shapes against parameter types."""

from __future__ import annotations

from typing import Any

from compiler.ir.error import ArgumentError
from compiler.ir.types import Type
from compiler.relay.expr import Var
from compiler.relay.ty import TensorType, TupleType

Shapes = tuple[Any, ...] | None
"""The shape of an array, or the shapes of the parts of a tuple; None of what has no shape, such as a closure."""


def check_shapes(owner: str, param: Var, shapes: Shapes) -> None:
    """Reject a value whose shape a parameter's type excludes.

    Extents that the type leaves open may be anything, and so may all of a parameter without a type.
    """
    _check(f"{owner}: argument {param.name_hint!r}", param.checked_type_ or param.type_annotation, shapes)


def _check(what: str, t: Type | None, shapes: Shapes) -> None:
    if shapes is None:
        return
    if isinstance(t, TupleType):
        if len(shapes) != len(t.fields):
            raise ArgumentError(f"{what} must be a tuple of {len(t.fields)}, got {len(shapes)}")
        for index, (field, part) in enumerate(zip(t.fields, shapes, strict=True)):
            _check(f"{what}.{index}", field, part)
    if not isinstance(t, TensorType):
        return
    if len(shapes) != len(t.dims):
        raise ArgumentError(f"{what} must have {len(t.dims)} dimensions {t}, got shape {shapes}")
    for axis, (wanted, got) in enumerate(zip(t.dims, shapes, strict=True)):
        if isinstance(wanted, int) and wanted != got:
            raise ArgumentError(f"{what} must have dimension {axis} equal to {wanted}, got {got}")
