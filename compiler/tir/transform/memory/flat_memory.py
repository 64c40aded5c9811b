"""Linear indices: the offset of a multi-dimensional buffer's element in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from compiler.arith import iter_map_simplify
from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.error import BoundError, LoweringError, counted
from compiler.ir.expr.primexpr import FloorDiv, FloorMod, IntImm, PrimExpr, Ramp, Range, Var, cast, const, is_const_int
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import nodes_of
from compiler.ir.memory import ALIGNMENT
from compiler.ir.node import rebuild
from compiler.ir.types import PointerType, PrimType
from compiler.tir.statements.buffer import Buffer, BufferLoad, compact_strides
from compiler.tir.statements.stmt import BufferStore

Exprs = tuple[PrimExpr, ...]


def align_strides(shape: Exprs, align: Mapping[int, tuple[int, int]]) -> Exprs:
    """Return strides such that the stride of axis ``a`` is ``offset`` modulo ``factor``, given by ``align[a]``."""
    strides: list[PrimExpr] = []
    stride: PrimExpr = const(1, shape[-1].dtype if shape else "int32")
    for axis in reversed(range(len(shape))):
        if axis in align:
            factor, offset = align[axis]
            stride = stride + (offset - stride % factor) % factor
        strides.append(stride)
        stride = stride * shape[axis]
    return tuple(reversed(strides))


def storage_dtype(dtype: str) -> str:
    """Return the type of an element in memory: a truth value takes a byte."""
    return "int8" + dtype.removeprefix("bool") if dtype.startswith("bool") else dtype


def pointer_to(dtype: str, pointer: Var) -> Var:
    """Return a pointer of the same name to elements of a type; the very same one if it points to such."""
    kind = pointer.type_annotation
    if not isinstance(kind, PointerType) or kind.element_type.dtype == dtype:
        return pointer
    return Var(pointer.name, pointer.dtype, PointerType(PrimType(dtype), kind.storage_scope), span=pointer.span)


def flatten_buffer(buffer: Buffer, shape: Exprs | None = None, strides: Exprs | None = None) -> Buffer:
    """Return an alias of one dimension on the same pointer; the very same buffer if it is one already."""
    dims = buffer.shape if shape is None else shape
    steps = buffer.strides if strides is None else strides
    size: PrimExpr = const(1, dims[0].dtype if dims else "int32")
    if steps:
        size = steps[0] * dims[0]
    else:
        for dim in dims:
            size = size * dim
    dtype = storage_dtype(buffer.dtype)
    if len(dims) == 1 and dims is buffer.shape and not steps and dtype == buffer.dtype:
        return buffer
    return rebuild(buffer, dtype=dtype, shape=(size,), strides=(), axis_separators=())


def _alignment(size: PrimExpr, dtype: str) -> int:
    """Return the alignment of an allocation, not more than what it holds; -1 for the usual one."""
    align = ALIGNMENT
    if isinstance(size, IntImm) and size.value > 0:
        while align > size.value * dt.storage_bytes(dtype):
            align //= 2
    return -1 if align == ALIGNMENT else align


@dataclass(slots=True, eq=False)
class _View:
    """How a buffer is laid out: its alias of one dimension, where it begins, and its strides."""

    flat: Buffer
    begin: Exprs | None
    strides: Exprs
    offset: PrimExpr | None


class FlatMemory:
    """Remembers how each buffer is laid out and rewrites accesses."""

    def __init__(self, analyzer: Analyzer) -> None:
        # the loops around the accesses, as far as they are known: quotients and remainders by symbolic extents, as in
        # `i // n * n + i % n`, cancel in them
        self.loops: dict[Var, Range] = {}
        self._analyzer = analyzer
        self.simplify = analyzer.simplify
        self._views: dict[Buffer, _View] = {}
        self._linear_indices: dict[tuple[object, ...], tuple[Exprs, PrimExpr]] = {}
        self._pointers: dict[Var, Var] = {}
        self._bound: dict[Var, PrimExpr] = {}

    def allocate(self, pointer: Var, dtype: str) -> Var:
        """Return the pointer to memory that is allocated for elements of type ``dtype``, or of their type in memory."""
        self._pointers[pointer] = pointer_to(storage_dtype(dtype), pointer)
        return self._pointers[pointer]

    def pointer(self, pointer: Var) -> Var:
        """Return what a pointer became."""
        return self._pointers.get(pointer, pointer)

    def value(self, var: Var) -> PrimExpr:
        """Return what a variable became: a pointer, or a stride or an offset of a buffer that was bound."""
        return self._pointers[var] if var in self._pointers else self._bound.get(var, var)

    def bind(self, buffer: Buffer, target: Buffer, begin: Exprs, extents: Exprs) -> None:
        """Lay out a buffer as a region of another one, and give values to the variables that describe it.

        The buffer may lack leading dimensions, which have one element each there. Raises LoweringError if the buffer's
        shape, strides or offset do not fit the region.
        """
        view = self.view(target)
        skipped = len(extents) - len(buffer.shape)
        if skipped < 0 or not all(is_const_int(e, 1) for e in extents[:skipped]):
            raise LoweringError(
                f"buffer {buffer.name!r} of {len(buffer.shape)} dimensions cannot match a region of"
                f" {target.name!r}, which has {len(extents)}"
            )
        offset = self.flat_index(target, begin)
        strides = view.strides[skipped:]
        own = extents[skipped:]
        for what, expected, actual in (
            *((f"extent {d}", e, a) for d, (e, a) in enumerate(zip(buffer.shape, own, strict=True))),
            *self._strides_to_bind(buffer, own, strides),
            ("offset", buffer.elem_offset, offset),
        ):
            self._bind_value(buffer, target, what, expected, actual)
        self._check_factor(buffer, target, offset)
        self._pointers[buffer.data] = view.flat.data
        self._views[buffer] = _View(view.flat, None, strides, offset)

    def _strides_to_bind(
        self, buffer: Buffer, extents: Exprs, strides: Exprs
    ) -> Iterator[tuple[str, PrimExpr, PrimExpr]]:
        """Yield the strides that a buffer must have; those of single elements do not matter to a compact one."""
        compact = not buffer.strides
        expected = compact_strides(extents) if compact else buffer.strides
        for d, (own, actual) in enumerate(zip(expected, strides, strict=True)):
            if not (compact and is_const_int(extents[d], 1)):
                yield f"stride {d}", own, actual

    def _bind_value(self, buffer: Buffer, target: Buffer, what: str, expected: PrimExpr, actual: PrimExpr) -> None:
        if isinstance(expected, Var) and expected not in self._bound:
            self._bound[expected] = self.simplify(actual.astype(expected.dtype))
            return
        known = substitute(expected, self._bound)
        if not self._analyzer.can_prove_equal(known, actual.astype(known.dtype)):
            raise LoweringError(
                f"buffer {buffer.name!r} must have the {what} {known} to match a region of {target.name!r}, "
                f"which has {self.simplify(actual)}"
            )

    def _check_factor(self, buffer: Buffer, target: Buffer, offset: PrimExpr) -> None:
        factor = buffer.offset_factor
        if factor > 1 and not self._analyzer.can_prove_equal(offset % factor, const(0, offset.dtype)):
            raise LoweringError(
                f"buffer {buffer.name!r} must begin at a multiple of {factor} elements to match a region of"
                f" {target.name!r}, which begins at {offset}"
            )

    def realize(self, buffer: Buffer, begin: Exprs, shape: Exprs, strides: Exprs) -> Buffer:
        """Lay out the region of a buffer that begins at ``begin`` and return its alias of one dimension."""
        size: PrimExpr = self.simplify(strides[0] * shape[0]) if shape else const(1)
        flat = rebuild(
            buffer,
            data=self.allocate(buffer.data, buffer.dtype),
            dtype=storage_dtype(buffer.dtype),
            shape=(size,),
            strides=(),
            axis_separators=(),
            elem_offset=const(0, size.dtype),
            data_alignment=_alignment(size, storage_dtype(buffer.dtype)),
        )
        self._views[buffer] = _View(flat, begin, strides, None)
        return flat

    def view(self, buffer: Buffer) -> _View:
        """Return how a buffer is laid out."""
        view = self._views.get(buffer)
        if view is None:
            strides = buffer.strides or compact_strides(buffer.shape)
            flat = rebuild(flatten_buffer(buffer), data=self.pointer(buffer.data))
            flat = rebuild(flat, shape=tuple([self.simplify(dim) for dim in flat.shape]))
            view = self._views[buffer] = _View(flat, None, strides, buffer.elem_offset)
        return view

    def is_flat(self, buffer: Buffer) -> bool:
        """Return whether a buffer is a row of elements already."""
        view = self.view(buffer)
        return view.flat is buffer and isinstance(buffer.elem_offset, IntImm) and buffer.elem_offset.value == 0

    def flat(self, buffer: Buffer) -> Buffer:
        """Return the flat alias of a buffer."""
        return self.view(buffer).flat

    def flat_indices(self, buffer: Buffer, indices: Exprs) -> Exprs:
        """Return where an element lies in the flat alias, by an index for each of its dimensions."""
        return (self.flat_index(buffer, indices),)

    def flat_index(self, buffer: Buffer, indices: Exprs) -> PrimExpr:
        """Return the linear index of an element.

        Raises BoundError if there are more or fewer indices than dimensions.
        """
        key = (buffer, *map(id, indices))
        remembered = self._linear_indices.get(key)
        if remembered is not None:
            return remembered[1]
        view = self.view(buffer)
        if len(indices) != len(view.strides):
            raise BoundError(
                f"buffer {buffer.name!r} has {counted(len(view.strides), 'dimension')}, "
                f"got {counted(len(indices), 'index', 'indices')}"
            )
        index = self._linear(view, indices)
        self._linear_indices[key] = (indices, index)  # keeps the indices alive, so that their ids stay theirs
        return index

    def _linear(self, view: _View, indices: Exprs) -> PrimExpr:
        dtype = indices[0].dtype if indices else "int32"
        last = indices[-1] if indices else None
        rest_is_scalar = not any(dt.is_vector(i.dtype) for i in indices[:-1])
        ramp = last if isinstance(last, Ramp) and rest_is_scalar else None
        if ramp is not None:
            indices = (*indices[:-1], ramp.base)
            dtype = ramp.base.dtype
        index: PrimExpr = const(0, dtype)
        for axis, (i, stride) in enumerate(zip(indices, view.strides, strict=True)):
            relative = i if view.begin is None else i - view.begin[axis]
            index = index + relative * stride
        if view.offset is not None:
            index = index + view.offset
        index = self.simplify(index)
        if self.loops and _divides_by_symbol(index):
            (index,) = iter_map_simplify((index,), self.loops)
        if ramp is None:
            return index
        return Ramp(index, self.simplify(ramp.stride * cast(ramp.stride.dtype, view.strides[-1])), ramp.lanes)

    def load(self, n: BufferLoad, indices: Exprs) -> PrimExpr:
        """Return the load from the flat alias; truth values are converted from bytes."""
        flat = self.flat(n.buffer)
        load = rebuild(n, buffer=flat, indices=self.flat_indices(n.buffer, indices))
        return cast(n.dtype, load) if flat.dtype != n.buffer.dtype else load

    def store(self, n: BufferStore, value: PrimExpr, indices: Exprs) -> BufferStore:
        """Return the store to the flat alias; truth values are converted to bytes."""
        flat = self.flat(n.buffer)
        stored = cast(storage_dtype(value.dtype), value) if flat.dtype != n.buffer.dtype else value
        return rebuild(n, buffer=flat, value=stored, indices=self.flat_indices(n.buffer, indices))


def _divides_by_symbol(index: PrimExpr) -> bool:
    """Return whether an index has a quotient or a remainder by something that is no number."""
    return any(not isinstance(n.b, IntImm) for n in nodes_of(index, FloorDiv, FloorMod))
