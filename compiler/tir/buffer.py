"""Buffers: typed, shaped views of memory, and the accesses to their elements."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

from compiler.ir import dtype as dt
from compiler.ir.node import Node, node
from compiler.ir.primexpr import ExprLike, PrimExpr, Ramp, Range, Var, as_exprs, const, convert
from compiler.ir.types import PointerType, PrimType
from compiler.tir.statement import Stmt

__all__ = ["Buffer", "BufferLoad", "BufferRegion", "BufferStore", "decl_buffer"]


@node
class Buffer(Node):
    """A view of memory; compared by identity.

    Parameters
    ----------
    data : Var
        The pointer.
    dtype : str
        Type of one element.
    shape, strides : tuple of PrimExpr
        In elements; empty strides mean compact rows.
    elem_offset : PrimExpr
        Offset of the first element from ``data``, in elements.
    name : str
        What it is called in texts.
    data_alignment : int
        Alignment of ``data`` in bytes, -1 for the runtime's default (64).
    offset_factor : int
        What ``elem_offset`` is a multiple of; 0 or 1 for nothing in particular.
    """

    defines: ClassVar[tuple[str, ...]] = ("data", "shape", "strides", "elem_offset")
    unique_instance: ClassVar[bool] = True

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

    def vload(self, begin: ExprLike, dtype: str | None = None) -> BufferLoad:
        """Read elements as one value.

        Parameters
        ----------
        begin : sequence of PrimExpr or int
            Indices of the first element, one for each dimension.
        dtype : str, optional
            The type of the value, e.g. ``float32x4`` for four elements; one element when left out.

        Returns
        -------
        BufferLoad
        """
        return BufferLoad(self, self._vector_indices(begin, dtype))

    def vstore(self, begin: ExprLike, value: PrimExpr) -> BufferStore:
        """Return the statement that stores a value, lane by lane, from an element on.

        Parameters
        ----------
        begin : sequence of PrimExpr or int
            Indices of the first element, one for each dimension.
        value : PrimExpr
            Of the element type of the buffer, with as many lanes as are stored.

        Returns
        -------
        BufferStore
        """
        return BufferStore(self, value, self._vector_indices(begin, value.dtype))

    def _vector_indices(self, begin: ExprLike, dtype: str | None) -> tuple[PrimExpr, ...]:
        indices = as_exprs(begin)
        count = dt.lanes(dtype or self.dtype) // dt.lanes(self.dtype)
        return indices if count == 1 else (*indices[:-1], Ramp(indices[-1], const(1, indices[-1].dtype), count))

    def __getitem__(self, indices: ExprLike) -> BufferLoad:
        return BufferLoad(self, as_exprs(indices))

    def __str__(self) -> str:
        return f"buffer({self.name})"

    __repr__ = __str__


def decl_buffer(
    shape: ExprLike,
    dtype: str = "float32",
    name: str = "buffer",
    data: Var | None = None,
    strides: ExprLike = (),
    elem_offset: ExprLike = None,
    scope: str = "global",
    data_alignment: int = -1,
    offset_factor: int = 1,
) -> Buffer:
    """Declare a buffer.

    Parameters
    ----------
    shape : sequence of int or PrimExpr
        Extent of each dimension, in elements.
    dtype : str
        Type of one element.
    name : str
        What it is called in texts, and so is its pointer.
    data : Var, optional
        The pointer; a new variable when left out.
    strides : sequence of int or PrimExpr, optional
        In elements; compact rows when left out.
    elem_offset : int or PrimExpr, optional
        Offset of the first element from the pointer, in elements; 0 when left out.
    scope : str
        The storage of a new pointer, e.g. ``global``, ``shared``, ``local``.
    data_alignment : int
        Alignment of the pointer in bytes; -1 for the runtime's default (64).
    offset_factor : int
        What ``elem_offset`` is a multiple of.

    Returns
    -------
    Buffer
    """
    dims = as_exprs(shape)
    offset = const(0, dims[0].dtype if dims else "int32") if elem_offset is None else convert(elem_offset)
    pointer = data if data is not None else Var(name, "handle", PointerType(PrimType(dtype), scope))
    return Buffer(pointer, dtype, dims, as_exprs(strides or ()), offset, name, data_alignment, offset_factor)


@node
class BufferLoad(PrimExpr):
    """An element of a buffer.

    Parameters
    ----------
    buffer : Buffer
    indices : sequence of PrimExpr or int
        One for each dimension, in elements; where the last one is a vector, so is the value.
    """

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
    """A box of a buffer.

    Parameters
    ----------
    buffer : Buffer
    region : tuple of Range
        A range for each dimension, in elements.
    """

    children: ClassVar[tuple[str, ...]] = ("region",)

    buffer: Buffer
    region: tuple[Range, ...]


@node
class BufferStore(Stmt):
    """``buffer[indices] = value``.

    Parameters
    ----------
    buffer : Buffer
    value : PrimExpr or number
        Of the element type of the buffer; a vector is stored lane by lane.
    indices : sequence of PrimExpr or int
        One for each dimension, in elements; the last one may be a vector.
    """

    children: ClassVar[tuple[str, ...]] = ("value", "indices")

    buffer: Buffer
    value: PrimExpr
    indices: tuple[PrimExpr, ...]

    def __post_init__(self) -> None:
        # Scripts pass numbers and lists, as TVM's constructors take them.
        if type(self.indices) is not tuple:
            object.__setattr__(self, "indices", as_exprs(self.indices))
        if not isinstance(self.value, PrimExpr):
            object.__setattr__(self, "value", convert(self.value).astype(self.buffer.dtype))
