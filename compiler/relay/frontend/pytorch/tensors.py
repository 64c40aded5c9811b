"""Queries on tensors, and operations shared by converters."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.values import Ints, Scalar, Size, TorchValue
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, dtype_of, known, ops, rank_of, scalar, settle
from compiler.relay.frontend.shared.tensors import extent_of, reshape, told, transpose, unsqueeze

__all__ = [
    "axes_of", "axis_of", "constant", "dims_of", "dtype_of", "extent", "extents", "known", "number", "open_extents",
    "ops", "rank_of", "repeated", "reshape", "scalar", "settle", "settled_value", "shape_of", "size", "static_extent",
    "static_shape", "told", "transpose", "unsqueeze",
]  # fmt: skip


def axis_of(dim: int, rank: int) -> int:
    """Normalise an axis."""
    rank = max(rank, 1)
    if not -rank <= dim < rank:
        raise ConversionError(f"dimension {dim} is out of range for a tensor of {rank} dimensions")
    return dim % rank


def axes_of(dim: int | Sequence[int] | None, rank: int) -> list[int]:
    """Normalise axes; None or an empty sequence selects all."""
    if dim is None or (not isinstance(dim, int) and not len(dim)):
        return list(range(rank))
    return sorted(axis_of(d, rank) for d in ([dim] if isinstance(dim, int) else dim))


def static_shape(x: RelayExpr) -> tuple[int, ...]:
    """Return the shape of a tensor as ints."""
    return tuple(static_extent(x, axis) for axis in range(rank_of(x)))


def static_extent(x: RelayExpr, axis: int) -> int:
    """Return the extent of an axis as an int."""
    dims = dims_of(x)
    own = dims[axis]
    if not isinstance(own, int):
        shape = ", ".join(str(d) if isinstance(d, int) else "?" for d in dims)
        raise ConversionError(f"the shape of its input must be known while importing, got ({shape})")
    return own


def size(x: RelayExpr, dim: int) -> Size:
    """Return an extent, as an int if it is known."""
    own = dims_of(x)[axis_of(dim, rank_of(x))]
    return own if isinstance(own, int) else extent_of(x, dim)


def shape_of(x: RelayExpr) -> list[Size]:
    """Return the extents of a tensor, as ints where they are known."""
    return [size(x, axis) for axis in range(rank_of(x))]


def number(value: Scalar, what: str) -> float:
    """Convert a value to a Python number."""
    if not isinstance(value, RelayExpr):
        return value
    array = known(value)
    if array is None:
        raise ConversionError(f"{what} must be known while importing, but is computed from the inputs")
    own: float = array.reshape(-1)[0].item()
    return own


def extent(value: Scalar) -> int:
    """Convert an extent to an int."""
    return int(number(value, "an extent"))


def extents(values: Ints) -> list[int]:
    """Return a list of extents as ints."""
    if isinstance(values, RelayExpr):
        array = known(values)
        if array is None:
            raise ConversionError("a shape must be known while importing, but is computed from the inputs")
        return [int(v) for v in array.reshape(-1)]
    return [extent(v) for v in ([values] if isinstance(values, int) else values)]


def open_extents(values: Ints) -> list[Size]:
    """Return a list of extents, as ints where they are known."""
    if isinstance(values, RelayExpr) and known(values) is None and rank_of(values):
        places = range(static_extent(values, 0))
        return [ops.take(values, constant(i, "int64"), axis=0) for i in places]
    if isinstance(values, Sequence):
        return [v if isinstance(v, RelayExpr) and known(v) is None else extent(v) for v in values]
    return [values] if isinstance(values, RelayExpr) and known(values) is None else list(extents(values))


def repeated(values: Ints, count: int) -> list[int]:
    """Expand an argument to one number per axis."""
    numbers = extents(values)
    return numbers * count if len(numbers) == 1 else numbers


def settled_value(value: TorchValue) -> TorchValue:
    """Infer the types of all new expressions in the result of a converter."""
    if isinstance(value, list):
        for i, item in enumerate(value):
            value[i] = settled_value(item)
        return value
    if isinstance(value, tuple):
        return tuple(settled_value(item) for item in value)
    return settle(value) if isinstance(value, RelayExpr) else value
