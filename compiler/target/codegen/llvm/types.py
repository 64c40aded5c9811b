"""LLVM types and constants for TVM's data types.

Booleans are ``i1`` in registers and ``i8`` in memory, as in NumPy.
"""

from __future__ import annotations

import math
import struct
from functools import cache

from llvmlite import ir

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.target.codegen.cures import cure

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
POINTER = ir.PointerType()
VOID = ir.VoidType()
_FLOATS = {16: ir.HalfType(), 32: ir.FloatType(), 64: ir.DoubleType()}


class MissingTypeError(BuildError):
    """A data type that code generation does not support."""

    def __init__(self, dtype: str, where: str = "") -> None:
        of = f", which {where} has" if where else ""
        super().__init__(
            f"LLVM code generation: no code is made for values of type {dtype}{of}{cure(dt.element(dtype))}"
        )


@cache
def register_type(dtype: str) -> ir.Type:
    """Return the type of a value in registers."""
    d = dt.parse(dtype)
    if d.code == "handle":
        scalar: ir.Type = POINTER
    elif d.code == "void":
        scalar = VOID
    elif d.code == "float":
        scalar = _FLOATS[d.bits]
    elif d.code == "bool" or (d.code in ("int", "uint") and d.bits >= 8):
        scalar = ir.IntType(d.bits)
    else:
        raise MissingTypeError(dtype)
    return with_lanes(scalar, d.lanes)


@cache
def memory_type(dtype: str) -> ir.Type:
    """Return the type of a value in memory."""
    return register_type(dt.with_lanes("uint8", dt.lanes(dtype)) if dt.is_bool(dtype) else dtype)


class ScalableVectorType(ir.VectorType):
    """A vector of a multiple of ``vscale`` elements; its count is negative, as in :func:`compiler.ir.dtype.lanes`."""

    def _to_string(self) -> str:
        return f"<vscale x {-self.count} x {self.element}>"


class BFloatType(ir.Type):
    """bfloat16 as intrinsics take it; it is computed with and stored as other types."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    def __hash__(self) -> int:
        return hash(type(self))


def with_lanes(scalar: ir.Type, count: int) -> ir.Type:
    """Return a vector type of ``count`` lanes: the scalar type for 1, a scalable vector for a negative count."""
    if count > dt.MAX_LANES:
        raise BuildError(f"LLVM code generation: a vector has at most {dt.MAX_LANES:,} lanes, got {count:,}")
    if count < 0:
        return ScalableVectorType(scalar, count)
    return scalar if count == 1 else ir.VectorType(scalar, count)


def scalar_of(typ: ir.Type) -> ir.Type:
    """Return the element type of a vector type; other types are returned unchanged."""
    return typ.element if isinstance(typ, ir.VectorType) else typ


def lanes_of(typ: ir.Type) -> int:
    """Return the number of lanes of a type, 1 for a scalar."""
    return typ.count if isinstance(typ, ir.VectorType) else 1


class Literal(ir.Constant):
    """A constant in LLVM's textual form, which has a short notation for splats."""

    constant = ()

    def __init__(self, typ: ir.Type, text: str) -> None:
        self.type = typ
        self._text = text

    def _get_reference(self) -> str:
        return self._text


def constant(typ: ir.Type, value: int | float) -> ir.Value:
    """Return a constant, as a splat if ``typ`` is a vector type."""
    scalar = scalar_of(typ)
    literal = _integer(scalar, int(value)) if isinstance(scalar, ir.IntType) else float_literal(scalar, float(value))
    if scalar is typ:
        return Literal(typ, literal)
    return Literal(typ, f"splat ({scalar} {literal})")


def _integer(typ: ir.IntType, value: int) -> str:
    if typ.width == 1:
        return "true" if value else "false"
    # LLVM's integers are signless, and printed as negative if the highest bit is set.
    return str(value - (1 << typ.width) if value >= 1 << (typ.width - 1) else value)


def float_literal(typ: ir.Type, value: float) -> str:
    """Format a floating-point constant exactly, as the bits of a double or half."""
    if isinstance(typ, ir.HalfType):
        return f"0xH{struct.unpack('<H', _half(value))[0]:04X}"
    if isinstance(typ, ir.FloatType):
        value = _single(value)
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016x}"


def _half(value: float) -> bytes:
    try:
        return struct.pack("<e", value)
    except OverflowError:
        return struct.pack("<e", math.copysign(math.inf, value))


def _single(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def lane_numbers(typ: ir.VectorType) -> ir.Value:
    """Return the constant vector ``0, 1, 2, …``."""
    return ir.Constant(typ, list(range(typ.count)))


def lane_mask(indices: list[int]) -> ir.Value:
    """Return the mask constant of a shuffle."""
    typ = ir.VectorType(I32, len(indices))
    return ir.Constant(typ, indices) if any(indices) else Literal(typ, "zeroinitializer")


def poison(typ: ir.Type) -> ir.Value:
    """Return a poison value."""
    return Literal(typ, "poison")


def null() -> ir.Constant:
    """Return the null pointer."""
    return ir.Constant(POINTER, None)
