"""The values of PyTorch programs while they are imported, by what operators' schemas call them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from compiler.ir.error import show
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError

if TYPE_CHECKING:
    import torch

    from compiler.relay.frontend.pytorch.converters.attention import NestedTensor
    from compiler.relay.frontend.pytorch.weights import PackedWeight

Scalar: TypeAlias = RelayExpr | float
"""A tensor, or a number that is known: ``Scalar``."""

Size: TypeAlias = RelayExpr | int
"""An extent or a place, which is an expression if it is known only at run time: ``SymInt``."""

Ints: TypeAlias = Size | Sequence[Size]
"""Extents, steps and the like, of which one stands for all axes: ``int[]``."""

DType: TypeAlias = "int | str | torch.dtype"
"""TorchScript's code of a data type, its name, or PyTorch's object: ``ScalarType``."""

TorchValue: TypeAlias = (
    "RelayExpr | float | str | Sequence[TorchValue] | dict[TorchKey, TorchValue] | PackedWeight | NestedTensor | None"
)
"""Whatever a node takes and returns, beside objects of PyTorch itself."""

TorchKey: TypeAlias = float | str


def as_expr(value: TorchValue) -> RelayExpr:
    """Return a value that must be a tensor."""
    if not isinstance(value, RelayExpr):
        raise ConversionError(f"a tensor is expected, got {show(value)}")
    return value


def as_number(value: TorchValue) -> float:
    """Return a value that must be a number."""
    if not isinstance(value, (int, float)):
        raise ConversionError(f"a number is expected, got {show(value)}")
    return value


def as_key(value: TorchValue) -> TorchKey:
    """Return a value that must be a key of a dict."""
    return value if isinstance(value, str) else as_number(value)


def as_items(value: TorchValue) -> Sequence[TorchValue]:
    """Return the items of a value that must be a list or a tuple."""
    if not isinstance(value, (list, tuple)):
        raise ConversionError(f"a list or tuple is expected, got {show(value)}")
    return value


def item_of(values: TorchValue, index: TorchValue) -> TorchValue:
    """Return an item of a list or tuple by its place, or of a dict by its key."""
    if isinstance(values, dict) and isinstance(index, (int, float, str)):
        return values[index]
    if not isinstance(index, int):
        raise ConversionError(f"a place in a list is expected, got {show(index)}")
    return as_items(values)[index]
