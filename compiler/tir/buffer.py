"""Buffers: typed, shaped views of memory, and the reading of one element."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from compiler.ir import dtype as dt
from compiler.ir.node import Node, node
from compiler.ir.primexpr import ExprLike, PrimExpr, Ramp, Range, Var, as_exprs, const, convert
from compiler.ir.types import PointerType, PrimType


@node
class Buffer(Node):
    """A view of the memory that ``data`` points to; compared by identity.

    Attributes
    ----------
    data : Var
        The pointer.
    dtype : str
        Type of one element.
    shape, strides : tuple of PrimExpr
        In elements; empty strides mean compact rows.
    elem_offset : PrimExpr
        Offset of the first element from ``data``, in elements.
    data_alignment : int
        Alignment of ``data`` in bytes, -1 for the runtime's default (64).
    """

    defines: ClassVar[tuple[str, ...]] = ("data", "shape", "strides", "elem_offset")
    nominal: ClassVar[bool] = True

    data: Var
    dtype: str
    shape: tuple[PrimExpr, ...]
    strides: tuple[PrimExpr, ...]
    elem_offset: PrimExpr
    name: str
    data_alignment: int = -1
    offset_factor: int = 1

    @property
    def scope(self) -> str:
        """The storage scope, e.g. ``global`` or ``local``."""
        kind = self.data.type_annotation
        return kind.storage_scope if isinstance(kind, PointerType) else "global"

    def vload(self, begin: Any, dtype: str | None = None) -> PrimExpr:
        """Return the elements of type ``dtype`` (lanes included) that start at ``begin``."""
        return BufferLoad(self, self._vector_indices(begin, dtype))

    def vstore(self, begin: Any, value: PrimExpr) -> Any:
        """Return the statement that stores ``value``, lane by lane, from ``begin`` on."""
        from compiler.tir.stmt import BufferStore

        return BufferStore(self, value, self._vector_indices(begin, value.dtype))

    def _vector_indices(self, begin: Any, dtype: str | None) -> tuple[PrimExpr, ...]:
        indices = as_exprs(begin)
        count = dt.lanes(dtype or self.dtype) // dt.lanes(self.dtype)
        return indices if count == 1 else (*indices[:-1], Ramp(indices[-1], const(1, indices[-1].dtype), count))

    def __getitem__(self, indices: ExprLike) -> BufferLoad:
        return BufferLoad(self, as_exprs(indices))

    def __str__(self) -> str:
        return f"buffer({self.name})"

    __repr__ = __str__


def decl_buffer(
    shape: Any,
    dtype: str = "float32",
    name: str = "buffer",
    data: Var | None = None,
    strides: Any = (),
    elem_offset: ExprLike = None,
    scope: str = "global",
    data_alignment: int = -1,
    offset_factor: int = 1,
) -> Buffer:
    """Declare a buffer; without ``data`` it gets a pointer variable of its own.

    Parameters
    ----------
    shape : sequence of int or PrimExpr
        Extent of each dimension, in elements.
    strides : sequence, optional
        In elements; compact rows when left out.
    elem_offset : int or PrimExpr, optional
        Offset of the first element, 0 when left out.
    """
    dims = as_exprs(shape)
    offset = const(0, dims[0].dtype if dims else "int32") if elem_offset is None else convert(elem_offset)
    pointer = data if data is not None else Var(name, "handle", PointerType(PrimType(dtype), scope))
    return Buffer(pointer, dtype, dims, as_exprs(strides or ()), offset, name, data_alignment, offset_factor)


@node
class BufferLoad(PrimExpr):
    """The element of a buffer at some indices; a vector when the last index is one."""

    children: ClassVar[tuple[str, ...]] = ("indices",)

    buffer: Buffer
    indices: tuple[PrimExpr, ...]
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        if type(self.indices) is not tuple:
            object.__setattr__(self, "indices", as_exprs(self.indices))
        count = dt.lanes(self.indices[-1].dtype) if self.indices else 1
        object.__setattr__(self, "dtype", dt.with_lanes(self.buffer.dtype, count * dt.lanes(self.buffer.dtype)))


@node
class BufferRegion(Node):
    """A box of a buffer."""

    children: ClassVar[tuple[str, ...]] = ("region",)

    buffer: Buffer
    region: tuple[Range, ...]
