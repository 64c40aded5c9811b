"""Type relations shared by operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.relay.op.common import normalize_axis
from compiler.relay.operator import RelationError, Types
from compiler.relay.ty import AnyDim, Dim, TensorType, same_dim
from compiler.runtime.modules.packed_func import register_func


def tensor(t: Type, what: str, rank: int | None = None) -> TensorType:
    """Return ``t`` if it is a tensor type, of the right rank where one is wanted.

    Raises RelationError if it is not.
    """
    if not isinstance(t, TensorType):
        raise RelationError(f"{what} must be a tensor, got {t}")
    if rank is not None and len(t.shape) != rank:
        raise RelationError(f"{what} must have {rank} dimensions, got {t}")
    return t


def identity(types: Types, attrs: Attrs) -> Type:
    """The output has the type of the first input."""
    return tensor(types[0], "the input")


def along_axis(types: Types, attrs: Any) -> Type:
    """The output has the type of the data."""
    data = tensor(types[0], "data")
    normalize_axis(attrs.axis, len(data.dims))
    return data


def tensor_of_kind(t: Type, is_kind: Callable[[str], bool], kind: str) -> TensorType:
    """Return ``t`` if it is the type of a tensor with elements of a kind.

    Raises RelationError if it is not.
    """
    data = tensor(t, "data")
    if not is_kind(data.dtype):
        raise RelationError(f"data must be {kind}, got {data}; cast it first")
    return data


def broadcast_dims(a: Sequence[Dim], b: Sequence[Dim]) -> tuple[Dim, ...]:
    """Return the shape that two shapes broadcast to, as NumPy does it.

    Raises RelationError if an extent differs and is not 1.
    """
    rank = max(len(a), len(b))
    left = (1,) * (rank - len(a)) + tuple(a)
    right = (1,) * (rank - len(b)) + tuple(b)
    return tuple(_broadcast_dim(x, y, a, b) for x, y in zip(left, right, strict=True))


def _broadcast_dim(x: Dim, y: Dim, a: Sequence[Dim], b: Sequence[Dim]) -> Dim:
    if isinstance(x, int) and x == 1:
        return y
    if isinstance(y, int) and y == 1:
        return x
    if x is y or (not isinstance(x, AnyDim) and same_dim(x, y)):
        return x
    if isinstance(x, int) and isinstance(y, int):
        raise RelationError(
            f"shapes {tuple(a)} and {tuple(b)} cannot be broadcast: extents {x} and {y} differ and neither is 1"
        )
    # One of the two is symbolic: it can only be equal to a known extent, and of two symbolic ones nobody knows.
    if isinstance(x, int):
        return x
    return y if isinstance(y, int) else AnyDim()


def same_dtype(a: TensorType, b: TensorType) -> str:
    """Return the common data type of two tensors.

    Raises RelationError if they differ: nothing is converted silently.
    """
    if a.dtype != b.dtype:
        raise RelationError(f"both inputs must have the same data type, got {a.dtype} and {b.dtype}; cast one of them")
    return a.dtype


def broadcast(types: Types, attrs: Attrs) -> Type:
    """Two tensors of one data type, broadcast against each other."""
    a, b = tensor(types[0], "lhs"), tensor(types[1], "rhs")
    dtype = same_dtype(a, b)
    return _wider(a, b) or TensorType(broadcast_dims(a.dims, b.dims), dtype)


def _wider(a: TensorType, b: TensorType) -> TensorType | None:
    """Return the one of two types that both broadcast to at once: of the same known shape, or beside a scalar."""
    if not b.shape or (a.shape is b.shape and a.is_static):
        return a
    if not a.shape:
        return b
    return a if len(a.shape) == len(b.shape) and a.is_static and b.is_static and a.dims == b.dims else None


def broadcast_compare(types: Types, attrs: Attrs) -> Type:
    """Like :func:`broadcast`, with truth values as the result."""
    common = broadcast(types, attrs)
    return TensorType(tensor(common, "the result").shape, "bool")


for _name, _relation in {"Broadcast": broadcast, "BroadcastComp": broadcast_compare, "Identity": identity}.items():
    register_func(f"tvm.relay.type_relation.{_name}", _relation)
