"""Numbers that are rounded, clipped and stored as integers of few bits: floats as long as possible.

A quantized model says of each tensor what integer it is stored as, and goes on with the number that this stands for,
often in the same kernel::

    float32(int32(uint8(clip(round(x) + 3, 0, 255))) - 3)   →   clip(round(x), -3, 252) + 0

The float is the same: where the sum is not exact, it is beyond what it is clipped to.  Only a NaN, of which no integer
is specified, stays one.  A zero is added because there is no negative one among integers.  Where the result becomes an
integer, after sums, products, quotients of it, or rounding, the sign of a zero never shows, and nothing is added.

What becomes an integer is clipped before it is rounded, as x86 rounds where it converts::

    uint8(clip(round(x) + 3, 0, 255))   →   uint8(lrint(clip(x, -3, 252)) + 3)

What is too large for int32 is converted to the least one, the largest but for its sign, so that with AVX-512, whose
stores of unsigned integers saturate, it need not be clipped to the largest before.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Add, Broadcast, Call, Cast, Div, FloatImm, IntImm, Max, Min, PrimExpr, Sub
from compiler.ir.functor import Mutator, leave
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.ir.origin import derived_from
from compiler.target.codegen.llvm.selection.constant_quotients import constant_quotient
from compiler.target.codegen.llvm.selection.narrowing import LARGER, ROUNDING, SMALLER, limited, may_not_fit
from compiler.target.codegen.llvm.state import Emitter
from compiler.target.codegen.llvm.types import constant, register_type

_NEAREST = Op.get("tir.nearbyint")
_EXACT = 1 << 16
"""Integers up to that, and their differences, are floats."""
_SATURATING_BITS = 512


def without_integers(n: Cast) -> PrimExpr | None:
    """Return a number that an integer stands for as a float that was never one; None if it is something else."""
    clipped = _without_integers(n)
    if clipped is None:
        return None
    with derived_from(n.span):
        return Add(clipped, _splat(0.0, clipped))


def rounded_last(emitter: Emitter, n: Cast) -> ir.Value | None:
    """Generate code for the int32 that is a clipped integer of few bits, in more bits or not; None for others."""
    stored = n.value if isinstance(n.value, Cast) and _holds(n.dtype, n.value.dtype) else n
    if not _is_small(stored.dtype) or dt.element(stored.value.dtype) != "float32":
        return None
    if may_not_fit(stored.value, stored.dtype) or not emitter.state.shared.target.triple.startswith("x86_64"):
        return None
    e, limits = up_to_zeros(stored.value), list[tuple[float, bool]]()
    while isinstance(e, Call) and (found := limited(e)) is not None:
        e, limit, is_least = found
        limits.append((limit, is_least))
    zero = 0.0
    if isinstance(e, Add) and isinstance(added := _scalar(e.b), FloatImm) and abs(added.value) <= _EXACT:
        e, zero = e.a, added.value
    if not (isinstance(e, Call) and e.op is _NEAREST and all(x == int(x) for x in (zero, *(x for x, _ in limits)))):
        return None
    least, most = [(0.0, True)], dt.int_range(n.dtype)[1]
    if stored is n and sorted(limits) == [*least, (most, False)] and _saturates(emitter, n.dtype):
        value = _converted(emitter, e.args[0], least, int(zero))
        return emitter.state.call_intrinsic("llvm.umin", [value, constant(value.type, most)])
    return _converted(emitter, e.args[0], limits, int(zero))


def _saturates(emitter: Emitter, dtype: str) -> bool:
    """Return whether a target stores unsigned integers that are too large as the largest one, as AVX-512 does."""
    return dt.is_vector(dtype) and emitter.state.shared.target.vector_bits >= _SATURATING_BITS


def _converted(emitter: Emitter, e: PrimExpr, limits: Sequence[tuple[float, bool]], zero: int) -> ir.Value:
    """Generate code for a number that is clipped, rounded, and then ``zero`` more; the last limit comes first."""
    state = emitter.state
    quotient = constant_quotient(emitter, e)
    value = emitter.visit(e) if quotient is None else quotient
    for limit, is_least in reversed(limits):
        name = "llvm.maximum" if is_least else "llvm.minimum"
        value = state.call_intrinsic(name, [value, constant(value.type, limit - zero)], ("nsz",))
    typ = register_type(dt.with_lanes("int32", dt.lanes(e.dtype)))
    lrint = state.shared.intrinsic("llvm.lrint", typ, [value.type], [typ, value.type])
    integer = state.builder.call(lrint, [value])
    return state.builder.add(integer, constant(typ, zero)) if zero else integer


def _is_small(dtype: str) -> bool:
    return dt.is_integral(dtype) and not dt.is_bool(dtype) and dt.bits(dtype) <= 16


def _holds(dtype: str, stored: str) -> bool:
    """Return whether a type has all integers of a smaller one."""
    if not _is_small(stored) or not dt.is_integral(dtype) or dt.is_bool(dtype):
        return False
    (low, high), (least, most) = dt.int_range(dtype), dt.int_range(stored)
    return low <= least and most <= high


def up_to_zeros(e: PrimExpr) -> PrimExpr:
    """Return what differs from a float in the sign of a zero at most, without integers in between."""
    made: PrimExpr = _UpToZeros().visit(e)
    return made


class _UpToZeros(Mutator):
    """Goes to where the sign of a zero changes nothing but such a sign."""

    visit_PrimExpr = leave

    visit_Add = visit_Sub = visit_Mul = visit_Max = visit_Min = Mutator.visit_Node

    def visit_Div(self, n: Div) -> PrimExpr:
        return rebuild(n, a=self.visit(n.a))

    def visit_Call(self, n: Call) -> PrimExpr:
        is_followed = n.op in ROUNDING or n.op in (LARGER, SMALLER)
        return rebuild(n, args=self._visit_tuple(n.args)) if is_followed else n

    def visit_Cast(self, n: Cast) -> PrimExpr:
        clipped = _without_integers(n)
        return n if clipped is None else self.visit(clipped)


def _without_integers(n: Cast) -> PrimExpr | None:
    value, zero = n.value, 0
    if isinstance(value, (Add, Sub)) and isinstance(offset := _scalar(value.b), IntImm):
        value, zero = value.a, offset.value if isinstance(value, Sub) else -offset.value
    if dt.element(n.dtype) != "float32" or not isinstance(value, Cast) or dt.element(value.dtype) != "int32":
        return None
    stored = value.value
    if not isinstance(stored, Cast) or not dt.is_float(stored.value.dtype) or not _is_small(stored.dtype):
        return None
    if abs(zero) > _EXACT or may_not_fit(stored.value, stored.dtype):
        return None
    with derived_from(n.span | value.span | stored.span):
        return _clipped(stored.value, zero)


def _clipped(e: PrimExpr, zero: int) -> PrimExpr | None:
    """Return a rounded number plus ``zero``, clipped, less ``zero``; None for anything else."""
    if (limits := limited(e)) is not None:
        operand, limit, _ = limits
        inner = _clipped(operand, zero)
        if inner is None or limit != int(limit):
            return None
        bound = _splat(limit - zero, e)  # on its side: which operand a NaN leaves depends on it
        if isinstance(e, Call):
            return rebuild(e, args=tuple([inner if part is operand else bound for part in e.args]))
        assert isinstance(e, (Max, Min))
        return rebuild(e, a=inner, b=bound) if e.a is operand else rebuild(e, a=bound, b=inner)
    if zero and isinstance(e, Add) and isinstance(added := _scalar(e.b), FloatImm) and added.value == zero:
        e, zero = e.a, 0
    return e if not zero and isinstance(e, Call) and e.op in ROUNDING else None


def _splat(value: float, like: PrimExpr) -> PrimExpr:
    constant, lanes = FloatImm("float32", value), dt.lanes(like.dtype)
    return constant if lanes == 1 else Broadcast(constant, lanes)


def _scalar(e: PrimExpr) -> PrimExpr:
    return e.value if isinstance(e, Broadcast) else e
