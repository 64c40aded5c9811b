"""Code generation for loads and stores of scalars and vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from llvmlite import ir

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Add, Broadcast, Cast, IntImm, Mul, PrimExpr, Ramp, Sub, Var, const, is_const_int
from compiler.ir.memory import ALIGNMENT
from compiler.target.codegen.llvm.state import FunctionState
from compiler.target.codegen.llvm.types import I1, I32, I64, VOID, lane_mask, lanes_of, memory_type, poison, with_lanes
from compiler.target.cpu.processor_features import used_features
from compiler.tir.statements.buffer import Buffer, compact_strides

Emit = Callable[[PrimExpr], ir.Value]
_WIDE, _PIECE = 64, 8
"""Longer vectors are gathered in pieces of eight lanes: LLVM's time for elements that are put into one vector, one by
one, grows faster than the square of its length."""
_MAX_STRIDE = 4
"""Elements that are further apart are loaded one by one: too little of whole vectors would be used."""
_MAX_ALIGNMENT = 1 << 16
_MASKED_BITS = (32, 64)
_MAX_REGISTER_BITS = 512


class Memory:
    """Generates loads and stores."""

    def __init__(self, state: FunctionState, emit: Emit) -> None:
        self._state = state
        self._emit = emit

    def load(self, buffer: Buffer, indices: tuple[PrimExpr, ...], mask: ir.Value | None = None) -> ir.Value:
        """Load the element, or the vector of elements, at ``indices``."""
        index = flat_index(buffer, indices)
        count = dt.lanes(index.dtype)
        if mask is not None:
            value = self._masked_load(buffer, index, mask)
        elif count == 1:
            value = self._load_at(buffer, index, buffer.dtype)
        elif isinstance(index, Ramp) and is_const_int(index.stride, 1):
            value = self._load_row(buffer, index.base, count * dt.lanes(buffer.dtype))
        elif dt.lanes(buffer.dtype) != 1:
            raise BuildError(f"LLVM code generation: vector index into {buffer.name}, whose elements are vectors")
        elif isinstance(index, Broadcast):
            value = self._state.splat(self._load_at(buffer, index.value, buffer.dtype), count)
        elif count < 0:
            raise BuildError(f"LLVM code generation: scalable vectors must access contiguous elements, got {index}")
        elif isinstance(index, Ramp) and is_const_int(index.stride, -1):
            first = index.base - (count - 1)
            value = self._reversed(self._load_at(buffer, first, dt.with_lanes(buffer.dtype, count)))
        elif isinstance(index, Ramp) and 1 < (stride := _small_stride(index)) <= count:
            value = self._strided(buffer, index, stride)
        else:
            value = self._gather(buffer, index)
        return self._to_register(value, buffer.dtype)

    def store(
        self, buffer: Buffer, indices: tuple[PrimExpr, ...], value: ir.Value, mask: ir.Value | None = None
    ) -> None:
        """Write ``value`` at ``indices``, or those of its lanes that a mask says."""
        index = flat_index(buffer, indices)
        count = dt.lanes(index.dtype)
        value = self._to_memory(value, buffer.dtype)
        if mask is not None:
            self._masked_store(buffer, index, value, mask)
        elif count == 1 or (isinstance(index, Ramp) and is_const_int(index.stride, 1)):
            self._store_row(buffer, index.base if isinstance(index, Ramp) else index, value)
        elif count < 0:
            raise BuildError(f"LLVM code generation: scalable vectors must access contiguous elements, got {index}")
        elif isinstance(index, Ramp) and is_const_int(index.stride, -1):
            first = index.base - (count - 1)
            align = self._alignment(buffer, first)
            self._state.builder.store(self._reversed(value), self.address(buffer, first), align=align)
        else:
            self._scatter(buffer, index, value)

    def _load_row(self, buffer: Buffer, base: PrimExpr, count: int) -> ir.Value:
        """Load contiguous elements."""
        mask = self._mask_of_part(buffer, count)
        if mask is None:
            return self._load_at(buffer, base, dt.with_lanes(buffer.dtype, count))
        value = self._masked_load(buffer, Ramp(base, const(1, base.dtype), mask.type.count), mask)
        return self._state.builder.shuffle_vector(value, poison(value.type), lane_mask(list(range(count))))

    def _store_row(self, buffer: Buffer, base: PrimExpr, value: ir.Value) -> None:
        """Store contiguous elements."""
        count = lanes_of(value.type)
        mask = self._mask_of_part(buffer, count)
        if mask is None:
            self._state.builder.store(value, self.address(buffer, base), align=self._alignment(buffer, base))
            return
        size = mask.type.count
        lanes = lane_mask([min(lane, count - 1) for lane in range(size)])
        whole = self._state.builder.shuffle_vector(value, poison(value.type), lanes)
        self._masked_store(buffer, Ramp(base, const(1, base.dtype), size), whole, mask)

    def _mask_of_part(self, buffer: Buffer, count: int) -> ir.Value | None:
        """Return the mask of the lanes that a vector fills of a register; None where LLVM has no better code with it.

        LLVM accesses vectors of 14 lanes as 8, 4 and 2, AVX-512 any number at once.  Sums in memory are left alone, as
        LLVM keeps in registers only what is accessed without a mask.
        """
        size = _power_of_two(count)
        bits = dt.bits(buffer.dtype)
        if size == count or bits not in _MASKED_BITS or dt.is_vector(buffer.dtype) or size * bits > _MAX_REGISTER_BITS:
            return None
        target = self._state.shared.target
        features = used_features(target.triple, target.cpu, target.llvm_features)
        if "avx512vl" not in features or buffer.data in self._state.accumulated:
            return None
        return ir.Constant(ir.VectorType(I1, size), [lane < count for lane in range(size)])

    def _masked_load(self, buffer: Buffer, index: PrimExpr, mask: ir.Value) -> ir.Value:
        """Load the active lanes of a mask; inactive lanes are undefined."""
        base = _first_of_row(buffer, index)
        typ = memory_type(dt.with_lanes(buffer.dtype, lanes_of(mask.type)))
        pointer = self.address(buffer, base)
        align = ir.Constant(I32, self._alignment(buffer, base))
        function = self._state.shared.intrinsic(
            "llvm.masked.load", typ, [pointer.type, I32, mask.type, typ], [typ, pointer.type]
        )
        return self._state.builder.call(function, [pointer, align, mask, poison(typ)])

    def _masked_store(self, buffer: Buffer, index: PrimExpr, value: ir.Value, mask: ir.Value) -> None:
        """Store the active lanes of a mask."""
        base = _first_of_row(buffer, index)
        pointer = self.address(buffer, base)
        align = ir.Constant(I32, self._alignment(buffer, base))
        function = self._state.shared.intrinsic(
            "llvm.masked.store", VOID, [value.type, pointer.type, I32, mask.type], [value.type, pointer.type]
        )
        self._state.builder.call(function, [value, pointer, align, mask])

    def address(self, buffer: Buffer, index: PrimExpr) -> ir.Value:
        """Return a pointer to the element at a flat index."""
        pointer = self._pointer(buffer)
        if is_const_int(index, 0):
            return pointer
        return self._element(pointer, buffer, self._emit(index), dt.is_uint(index.dtype))

    def _pointer(self, buffer: Buffer) -> ir.Value:
        pointer = self._state.values.get(buffer.data)
        if pointer is None:
            raise BuildError(f"LLVM code generation: buffer {buffer.name} is used outside of its scope")
        return pointer

    def _element(self, pointer: ir.Value, buffer: Buffer, index: ir.Value, unsigned: bool) -> ir.Value:
        builder = self._state.builder
        if unsigned and index.type.width < 64:
            index = builder.zext(index, I64)
        lanes = dt.lanes(buffer.dtype)
        if lanes > 1:
            index = builder.mul(index, ir.Constant(index.type, lanes))
        scalar = memory_type(dt.element(buffer.dtype))
        return builder.gep(pointer, [index], inbounds=True, source_etype=scalar)

    def _load_at(self, buffer: Buffer, index: PrimExpr, dtype: str) -> ir.Value:
        align = self._alignment(buffer, index)
        return self._state.builder.load(self.address(buffer, index), align=align, typ=memory_type(dtype))

    def _alignment(self, buffer: Buffer, index: PrimExpr) -> int:
        """Return the largest power of two that is known to divide the address of an element."""
        alignment = self._state.alignments.get(buffer.data, dt.storage_bytes(dt.element(buffer.dtype)))
        step = divisor(index, self._state.divisors) * dt.storage_bytes(buffer.dtype)
        return min(math.gcd(alignment, step & -step), ALIGNMENT)

    def _lane_addresses(self, buffer: Buffer, index: PrimExpr) -> list[ir.Value]:
        pointer, builder = self._pointer(buffer), self._state.builder
        unsigned = dt.is_uint(index.dtype)
        if isinstance(index, Ramp):
            return [self.address(buffer, index.base + index.stride * i) for i in range(dt.lanes(index.dtype))]
        lanes = self._emit(index)
        return [
            self._element(pointer, buffer, builder.extract_element(lanes, ir.Constant(I32, lane)), unsigned)
            for lane in range(lanes.type.count)
        ]

    def _gather(self, buffer: Buffer, index: PrimExpr) -> ir.Value:
        """Load lane by lane, as LLVM has no better code for gathers on most CPUs."""
        addresses = self._lane_addresses(buffer, index)
        if len(addresses) <= _WIDE:
            return self._gathered(buffer, addresses)
        pieces = [self._gathered(buffer, addresses[at : at + _PIECE]) for at in range(0, len(addresses), _PIECE)]
        return self._state.joined(pieces)

    def _strided(self, buffer: Buffer, index: Ramp, stride: int) -> ir.Value:
        """Load whole vectors and choose every second, third or fourth of their elements.

        They reach from the first to the last element that is asked for and no further, so the last two may overlap.
        """
        count = dt.lanes(index.dtype)
        size = _power_of_two(count)
        last = stride * (count - 1) + 1 - size
        whole = -(-last // size) * size
        rows = [
            self._load_at(buffer, index.base + start, dt.with_lanes(buffer.dtype, size))
            for start in (*range(0, whole, size), last)
        ]
        places = [at if at < whole else at - last + whole for at in range(0, stride * count, stride)]
        every = self._state.joined(rows)
        return self._state.builder.shuffle_vector(every, poison(every.type), lane_mask(places))

    def _gathered(self, buffer: Buffer, addresses: list[ir.Value]) -> ir.Value:
        scalar, align = memory_type(buffer.dtype), dt.storage_bytes(buffer.dtype)
        vector = poison(ir.VectorType(scalar, len(addresses)))
        for lane, pointer in enumerate(addresses):
            one = self._state.builder.load(pointer, align=align, typ=scalar)
            vector = self._state.builder.insert_element(vector, one, ir.Constant(I32, lane))
        return vector

    def _scatter(self, buffer: Buffer, index: PrimExpr, value: ir.Value) -> None:
        align = dt.storage_bytes(buffer.dtype)
        for lane, pointer in enumerate(self._lane_addresses(buffer, index)):
            one = self._state.builder.extract_element(value, ir.Constant(I32, lane))
            self._state.builder.store(one, pointer, align=align)

    def _reversed(self, vector: ir.Value) -> ir.Value:
        mask = lane_mask(list(reversed(range(vector.type.count))))
        return self._state.builder.shuffle_vector(vector, poison(vector.type), mask)

    def _to_register(self, value: ir.Value, dtype: str) -> ir.Value:
        if not dt.is_bool(dtype):
            return value
        count = lanes_of(value.type)
        return self._state.builder.trunc(value, with_lanes(I1, count))

    def _to_memory(self, value: ir.Value, dtype: str) -> ir.Value:
        if not dt.is_bool(dtype):
            return value
        return self._state.builder.zext(value, memory_type(dt.with_lanes("bool", lanes_of(value.type))))


def _first_of_row(buffer: Buffer, index: PrimExpr) -> PrimExpr:
    """Return the first index of contiguous elements."""
    if isinstance(index, Ramp) and is_const_int(index.stride, 1) and not dt.is_vector(buffer.dtype):
        return index.base
    if not dt.is_vector(index.dtype) and dt.is_vector(buffer.dtype):
        return index
    raise BuildError(f"LLVM code generation: only contiguous elements can be accessed with a predicate, got {index}")


def _power_of_two(number: int) -> int:
    """Return the smallest power of two that is not less."""
    return 1 << (number - 1).bit_length()


def _small_stride(index: Ramp) -> int:
    """Return how far apart indices are if that is a small constant, else 0."""
    stride = index.stride
    return stride.value if isinstance(stride, IntImm) and stride.value <= _MAX_STRIDE else 0


def flat_index(buffer: Buffer, indices: tuple[PrimExpr, ...]) -> PrimExpr:
    """Return the offset of an element from the first element of the buffer, in elements."""
    if len(indices) == 1 and not buffer.strides and is_const_int(buffer.elem_offset, 0):
        return indices[0]
    strides = buffer.strides or compact_strides(buffer.shape)
    offset = buffer.elem_offset
    for index, stride in zip(indices, strides, strict=True):
        offset = offset + index * stride
    return offset


def divisor(e: PrimExpr, divisors: Mapping[Var, int]) -> int:
    """Return a number that is known to divide an expression."""
    if isinstance(e, IntImm):
        return abs(e.value) or _MAX_ALIGNMENT
    if isinstance(e, Mul):
        return min(divisor(e.a, divisors) * divisor(e.b, divisors), 1 << 40)
    if isinstance(e, (Add, Sub)):
        return math.gcd(divisor(e.a, divisors), divisor(e.b, divisors))
    if isinstance(e, Cast) and dt.is_integral(e.value.dtype):
        return divisor(e.value, divisors)
    if isinstance(e, Var):
        return divisors.get(e, 1)
    return 1
