"""Buffers: typed, shaped views of memory, and the accesses to their elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.expr.lanes import lanes_of_count
from compiler.ir.expr.primexpr import (
    Broadcast,
    Call,
    Div,
    ExprLike,
    IntImm,
    PrimExpr,
    Ramp,
    Range,
    Var,
    as_exprs,
    binary,
    cast,
    const,
    convert,
    is_const_int,
)
from compiler.ir.extension import public_module
from compiler.ir.functor import nodes_of
from compiler.ir.memory import ALIGNMENT
from compiler.ir.node import Node, node, rebuild
from compiler.ir.op import Op
from compiler.ir.printing.format import text_of
from compiler.ir.types import PointerType
from compiler.tir.statements.buffer_checks import check_predicate, check_rank, check_stored_value, index_lanes
from compiler.tir.statements.statement import Stmt

DEFAULT, AUTO_BROADCAST = 1, 2
"""The values of :attr:`Buffer.buffer_type`."""

__all__ = ["Buffer", "BufferLoad", "BufferRegion", "BufferStore", "compact_strides", "moved_index"]


@node
class Buffer(Node):
    """A view of memory; compared by identity.

    Parameters
    ----------
    shape, strides : tuple of PrimExpr
        In elements; empty strides mean compact rows.
    elem_offset : PrimExpr
        Offset of the first element from ``data``, in elements.
    data_alignment : int
        Alignment of ``data`` in bytes; if not positive, the alignment of the runtime's arrays.
    offset_factor : int
        A factor that ``elem_offset`` is a multiple of; 0 or 1 if unknown.
    axis_separators : tuple of IntImm
        The positions at which the dimensions are separated into groups; flattening keeps one dimension per group.
    buffer_type : int
        1 by default; 2 for a buffer whose dimensions of extent 1 are broadcast.
    """

    defines: ClassVar[tuple[str, ...]] = ("data", "shape", "strides", "elem_offset")
    unique_instance: ClassVar[bool] = True

    data: Var
    dtype: str
    shape: tuple[PrimExpr, ...]
    strides: tuple[PrimExpr, ...]
    elem_offset: PrimExpr
    name: str
    data_alignment: int = ALIGNMENT
    offset_factor: int = 1
    axis_separators: tuple[PrimExpr, ...] = ()
    buffer_type: int = DEFAULT

    READ: ClassVar[int] = 1
    WRITE: ClassVar[int] = 2

    def __post_init__(self) -> None:
        dt.require_in_memory(self.dtype)
        object.__setattr__(self, "data_alignment", self.data_alignment if self.data_alignment > 0 else ALIGNMENT)

    @property
    def storage_scope(self) -> str:
        """The storage scope, e.g. ``global`` or ``local``."""
        kind = self.data.type_annotation
        return kind.storage_scope if isinstance(kind, PointerType) else "global"

    def scope(self) -> str:
        """Return the storage scope."""
        return self.storage_scope

    def vload(self, begin: ExprLike, dtype: str | None = None, predicate: PrimExpr | None = None) -> BufferLoad:
        """Load one or several elements.

        ``begin`` has the indices of the first element; ``dtype`` is the type of the value, e.g. ``float32x4`` for four
        elements, by default the element type. The lanes where ``predicate``, a boolean vector, is false have undefined
        values. Raises DTypeError if ``dtype`` is not that of elements of this buffer.
        """
        if dtype is not None and dt.element(dtype) != dt.element(self.dtype):
            raise DTypeError(f"vload: elements of {self.name!r} are {dt.element(self.dtype)}, not {dtype}")
        return BufferLoad(self, self._vector_indices(begin, dtype), predicate)

    def vstore(self, begin: ExprLike, value: ExprLike, predicate: PrimExpr | None = None) -> BufferStore:
        """Return a statement that stores one or several elements.

        ``begin`` has the indices of the first element; the value has one lane per stored element, and lanes where
        ``predicate``, a boolean vector, is false are not stored.
        """
        stored = convert(value)
        return BufferStore(self, stored, self._vector_indices(begin, stored.dtype), predicate)

    def access_ptr(
        self,
        access_mask: str | int,
        ptr_type: str = "handle",
        content_lanes: int = 1,
        offset: ExprLike = 0,
        extent: ExprLike | None = None,
    ) -> Call:
        """Return a pointer into the buffer, for a function outside.

        Raises ArgumentError if the mask has other letters than ``r`` and ``w``.

        Parameters
        ----------
        access_mask : str or int
            What the function does with the elements: ``"r"``, ``"w"`` or ``"rw"``; or the sum of ``Buffer.READ`` and
            ``Buffer.WRITE``.
        content_lanes : int
            How many elements the pointer steps over at once.
        offset : int or PrimExpr
            The element that it points to, in elements from the first one.
        extent : int or PrimExpr, optional
            How many elements may be accessed; the rest of the buffer by default.
        """
        first = convert(offset)
        available = self._size() - first if extent is None else convert(extent)
        begin = self.elem_offset + first
        if content_lanes > 1:
            begin, available = binary(Div, begin, content_lanes), binary(Div, available, content_lanes)
        kind = Call(dt.with_lanes(self.dtype, content_lanes), Op.get("tir.type_annotation"), ())
        arguments = (kind, self.data, begin, available, const(_access_bits(access_mask)))
        return Call(ptr_type, Op.get("tir.tvm_access_ptr"), arguments)

    def _size(self) -> PrimExpr:
        """Return how many elements the memory has, gaps included."""
        if self.strides:
            return self.strides[0] * self.shape[0]
        size: PrimExpr = const(1) if not self.shape else self.shape[0]
        for dim in self.shape[1:]:
            size = size * dim
        return size

    def offset_of(self, indices: ExprLike) -> list[PrimExpr]:
        """Return the position of an element in the flattened buffer; one index for each dimension, in elements."""
        places: list[PrimExpr] = []
        for group in self._groups():
            place: PrimExpr | None = None
            for position in group:
                place = self._added(place, as_exprs(indices)[position], position)
            places.append(const(0) if place is None else place)
        if not is_const_int(self.elem_offset, 0):
            places[0] = self.elem_offset + places[0]
        simplify = Analyzer().simplify
        return [simplify(place) for place in places]

    def _added(self, place: PrimExpr | None, index: PrimExpr, position: int) -> PrimExpr:
        if self.strides:
            step = index * self.strides[position]
            return step if place is None else place + step
        return index if place is None else place * self.shape[position] + index

    def _groups(self) -> list[range]:
        """Return the dimensions that are flattened together."""
        cuts = [0, *[cut.value for cut in self.axis_separators if isinstance(cut, IntImm)], len(self.shape)]
        return [range(low, high) for low, high in pairwise(cuts)]

    def get_flattened_buffer(self) -> Buffer:
        """Return a flat view of the buffer, with one dimension per group; the buffer itself if it is already flat."""
        groups = self._groups()
        if len(groups) == len(self.shape) and not self.strides:
            return self
        sizes = []
        for group in groups:
            size: PrimExpr = const(1)
            for position in group:
                size = self.shape[position] * size if is_const_int(size, 1) else size * self.shape[position]
            first = group.start
            sizes.append(self.strides[first] * self.shape[first] if self.strides and len(group) else size)
        return rebuild(self, shape=tuple(sizes), strides=(), axis_separators=as_exprs(range(1, len(groups))))

    def _vector_indices(self, begin: ExprLike, dtype: str | None) -> tuple[PrimExpr, ...]:
        indices = as_exprs(begin)
        count = dt.lanes(dtype or self.dtype) // dt.lanes(self.dtype)
        if not indices or dt.is_vector(indices[-1].dtype):
            return indices
        return indices if count == 1 else (*indices[:-1], Ramp(indices[-1], const(1, indices[-1].dtype), count))

    def __getitem__(self, indices: object) -> BufferLoad | BufferRegion:
        parts = indices if isinstance(indices, (tuple, list)) else (indices,)
        if any(isinstance(part, slice) and part.step is not None for part in parts):
            return BufferLoad(self, tuple([_part_index(part, d) for part, d in zip(parts, self.shape, strict=True)]))
        if any(isinstance(part, slice) for part in parts):
            return BufferRegion(self, tuple([_part_range(part, d) for part, d in zip(parts, self.shape, strict=True)]))
        return BufferLoad(self, as_exprs(indices))

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


def _access_bits(mask: str | int) -> int:
    if isinstance(mask, int):
        return mask
    bits = {"r": Buffer.READ, "w": Buffer.WRITE}
    if not mask or set(mask) - set(bits):
        raise ArgumentError(f"access_ptr: access_mask must consist of r and w, got {show(mask)}")
    return sum(bits[letter] for letter in set(mask))


def moved_index(index: PrimExpr, shift: PrimExpr) -> PrimExpr:
    """Return an index with all of its elements moved by the same number."""
    if isinstance(index, Ramp):
        return Ramp(moved_index(index.base, shift), index.stride, index.lanes)
    shift = cast(dt.element(index.dtype), shift)
    return index + (Broadcast(shift, lanes_of_count(dt.lanes(index.dtype))) if dt.is_vector(index.dtype) else shift)


def _part_index(part: object, dim: PrimExpr) -> PrimExpr:
    """Convert one part of a subscript with steps to an index, which is a vector if it selects several elements."""
    if not isinstance(part, slice):
        return convert(part)
    low, high, step = convert(part.start or 0), dim if part.stop is None else convert(part.stop), part.step or 1
    count = Analyzer().simplify((high - low + step - 1) // step)
    if not isinstance(count, IntImm) or count.value < 1:
        raise ArgumentError(f"Buffer: a slice with steps has a constant number of elements, got {count}")
    return low if count.value == 1 else Ramp(low, convert(step), count.value)


def _part_range(part: object, dim: PrimExpr) -> Range:
    """Convert one part of a subscript to a range."""
    if not isinstance(part, slice):
        return Range.from_min_extent(part, 1)
    low = convert(part.start or 0)
    return Range(low, dim if part.stop is None else part.stop)


@node
class BufferLoad(PrimExpr):
    """A load of an element, or a vector of elements, of a buffer.

    If the last index is a vector, so is the value; the lanes where ``predicate``, a boolean vector, is false have
    undefined values. Raises RankError if the number of indices differs from that of the dimensions, and LanesError if
    the predicate is not a boolean vector of as many lanes, an index other than the last is a vector, or index and
    elements are both scalable vectors; ArgumentError if the predicate reads memory.
    """

    children: ClassVar[tuple[str, ...]] = ("indices", "predicate")

    buffer: Buffer
    indices: tuple[PrimExpr, ...]
    predicate: PrimExpr | None = None
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        if type(self.indices) is not tuple:
            object.__setattr__(self, "indices", as_exprs(self.indices))
        count = index_lanes("BufferLoad", self.buffer, self.indices)
        elements = dt.lanes(self.buffer.dtype)
        object.__setattr__(self, "dtype", dt.with_lanes(self.buffer.dtype, count * elements))
        if self.predicate is not None:
            check_predicate("load", ("load indices", "vector"), self.predicate, count * elements)
            _check_reads_nothing("BufferLoad", self.predicate)

    @property
    def buffer_var(self) -> Var:
        """The pointer to the buffer's memory."""
        return self.buffer.data

    @property
    def index(self) -> PrimExpr:
        """The position in the flattened buffer: the index of a ``Load`` in older releases."""
        return _flat_index(self)


def _flat_index(access: BufferLoad | BufferStore) -> PrimExpr:
    return access.indices[0] if len(access.indices) == 1 else access.buffer.offset_of(access.indices)[0]


@node
class BufferRegion(Node):
    """A rectangular region of a buffer: a range for each dimension, in elements.

    Raises RankError if the number of ranges differs from that of the dimensions.
    """

    children: ClassVar[tuple[str, ...]] = ("region",)

    buffer: Buffer
    region: tuple[Range, ...]

    def __post_init__(self) -> None:
        if type(self.region) is not tuple:
            object.__setattr__(self, "region", tuple(self.region))
        if len(self.region) != len(self.buffer.shape):
            check_rank(self.buffer, self.region)

    @staticmethod
    def from_point(buffer: Buffer, indices: Iterable[PrimExpr]) -> BufferRegion:
        """Return the region of one element."""
        return BufferRegion(buffer, tuple([Range.from_fields(index, const(1, index.dtype)) for index in indices]))

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__


@node
class BufferStore(Stmt):
    """``buffer[indices] = value``.

    A Python number is an int32 or float32. If the last index is a vector, the value is stored lane by lane, where
    ``predicate``, a boolean vector, is true. Raises RankError if the number of indices differs from that of the
    dimensions, LanesError if the number of lanes of the value or the predicate does not match, the predicate is not
    boolean, or an index other than the last is a vector, DTypeError if the value has another type than the elements,
    and ArgumentError if the predicate reads memory.
    """

    children: ClassVar[tuple[str, ...]] = ("value", "indices", "predicate")

    buffer: Buffer
    value: PrimExpr
    indices: tuple[PrimExpr, ...]
    predicate: PrimExpr | None = None

    def __post_init__(self) -> None:
        # Programs may pass numbers and lists, as to TVM's constructors.
        if type(self.indices) is not tuple:
            object.__setattr__(self, "indices", as_exprs(self.indices))
        if not isinstance(self.value, PrimExpr):
            object.__setattr__(self, "value", convert(self.value))
        count = index_lanes("BufferStore", self.buffer, self.indices)
        if count != 1 or self.value.dtype != self.buffer.dtype:
            check_stored_value(self, count)
        if self.predicate is not None:
            check_predicate("store", ("value dtype", "value"), self.predicate, dt.lanes(self.value.dtype))
            _check_reads_nothing("BufferStore", self.predicate)

    @property
    def buffer_var(self) -> Var:
        """The pointer to the buffer's memory."""
        return self.buffer.data

    @property
    def index(self) -> PrimExpr:
        """The position in the flattened buffer: the index of a ``Store`` in older releases."""
        return _flat_index(self)


def compact_strides(shape: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
    """Return the strides of a compact row-major array."""
    strides: list[PrimExpr] = []
    step: PrimExpr = const(1, shape[-1].dtype if shape else "int32")
    for dim in reversed(shape):
        strides.append(step)
        step = dim if is_const_int(step, 1) else dim * step
    return tuple(reversed(strides))


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.tir.buffer", __all__)


def _check_reads_nothing(access: str, predicate: PrimExpr) -> None:
    """Raise an error if a predicate reads memory: to every pass, what an access reads is in its value and indices."""
    if (read := next(nodes_of(predicate, BufferLoad), None)) is not None:
        raise ArgumentError(f"{access}: the predicate reads {show(read)}; bind its value to a variable and use that")
