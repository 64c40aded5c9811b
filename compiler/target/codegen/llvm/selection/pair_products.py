"""Sums of two products of 16-bit integers per lane, as the x86 instruction ``pmaddwd``.

For example ``acc + int32x8(a) * int32x8(b) + int32x8(c) * int32x8(d)``, of vectors of int16: the elements of ``a`` and
``c`` are interleaved, as are those of ``b`` and ``d``, and multiplied and added in pairs.  If the CPU has VNNI, LLVM
fuses this with the addition to ``acc``.  All of it wraps around like 32-bit arithmetic, so the result is the same for
all operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from llvmlite import ir

from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Add, Broadcast, Cast, Mul, PrimExpr, Ramp, Var, const, is_const_int
from compiler.ir.expr.substitute import substitute
from compiler.target.codegen.llvm.state import Emitter
from compiler.target.codegen.llvm.types import I16, I32, lane_mask
from compiler.target.cpu.cpu_features import int16_vector_bits
from compiler.tir.statements.buffer import BufferLoad

__all__ = ["pair_product"]

_NARROW = ("int16", "int8", "uint8")
_INTRINSICS = {
    16: "llvm.x86.avx512.pmaddw.d.512",
    8: "llvm.x86.avx2.pmadd.wd",
    4: "llvm.x86.sse2.pmadd.wd",
}
"""The intrinsics by the number of lanes of the result."""


def pair_product(emitter: Emitter, n: Add) -> ir.Value | None:
    """Generate code for a sum that contains two products of 16-bit integers; None for other sums and other targets."""
    lanes = dt.lanes(n.dtype)
    if dt.element(n.dtype) != "int32" or lanes < min(_INTRINSICS) or lanes & (lanes - 1):
        return None
    terms = _terms(n)
    if terms is None:
        return None
    target = emitter.state.shared.target
    width = int16_vector_bits(target.triple, target.cpu, target.llvm_features) // 32
    part = next((w for w in _INTRINSICS if w <= width and w <= lanes), None)
    if part is None:
        return None
    rest, first, second = terms
    left = _interleaved(emitter, first[0], second[0], part)
    right = _interleaved(emitter, first[1], second[1], part)
    products = [_multiply_add(emitter, left(i), right(i), part) for i in range(0, lanes, part)]
    value = _joined(emitter, products)
    return value if rest is None else emitter.state.builder.add(emitter.visit(rest), value)


Factors = tuple[PrimExpr, PrimExpr]


def _terms(n: Add) -> tuple[PrimExpr | None, Factors, Factors] | None:
    """Split a sum into the addend, if any, and the 16-bit factors of the two products."""
    last = _factors(n.b)
    if last is None:
        return None
    if (first := _factors(n.a)) is not None:
        return None, first, last
    if isinstance(n.a, Add):
        for rest, product in ((n.a.a, n.a.b), (n.a.b, n.a.a)):
            if (first := _factors(product)) is not None:
                return rest, first, last
    return None


def _factors(product: PrimExpr) -> Factors | None:
    """Return the factors of a product before their conversion to 32 bits."""
    if not isinstance(product, Mul):
        return None
    a, b = _narrow(product.a), _narrow(product.b)
    return None if a is None or b is None else (a, b)


def _narrow(factor: PrimExpr) -> PrimExpr | None:
    """Return a factor before its conversion to 32 bits; a scalar if it is a broadcast."""
    is_same = isinstance(factor, Broadcast)
    wide = factor.value if isinstance(factor, Broadcast) else factor
    if not isinstance(wide, Cast) or dt.element(wide.value.dtype) not in _NARROW:
        return None
    if is_same and dt.lanes(wide.dtype) > 1:
        return None
    value = wide.value
    return value.value if isinstance(value, Broadcast) and dt.lanes(value.value.dtype) == 1 else value


def _interleaved(emitter: Emitter, first: PrimExpr, second: PrimExpr, part: int) -> Callable[[int], ir.Value]:
    """Return what gives the pairs of ``part`` lanes from some lane on."""
    builder = emitter.state.builder
    if (row := _row_of_pairs(first, second, emitter.state.definitions)) is not None:
        lanes = emitter.convert(emitter.visit(row), row.dtype, dt.with_lanes("int16", dt.lanes(row.dtype)))
        return lambda start: builder.shuffle_vector(lanes, lanes, lane_mask(list(range(2 * start, 2 * (start + part)))))
    a, b = (
        emitter.convert(emitter.visit(e), e.dtype, dt.with_lanes("int16", dt.lanes(e.dtype))) for e in (first, second)
    )
    if not (isinstance(a.type, ir.VectorType) or isinstance(b.type, ir.VectorType)):
        high = builder.shl(builder.zext(b, I32), ir.Constant(I32, 16))
        pair = builder.or_(builder.zext(a, I32), high)
        same = builder.bitcast(emitter.state.splat(pair, part), ir.VectorType(I16, 2 * part))
        return lambda start: same
    count = max(v.type.count for v in (a, b) if isinstance(v.type, ir.VectorType))
    a, b = (v if isinstance(v.type, ir.VectorType) else emitter.state.splat(v, count) for v in (a, b))

    def pairs(start: int) -> ir.Value:
        mask = [lane for i in range(start, start + part) for lane in (i, count + i)]
        return builder.shuffle_vector(a, b, lane_mask(mask))

    return pairs


def _row_of_pairs(first: PrimExpr, second: PrimExpr, definitions: Mapping[Var, PrimExpr]) -> BufferLoad | None:
    """Return a single load of all pairs if they are contiguous in memory, as in the layout ``OIHW4i8o2i``."""
    if not (isinstance(first, BufferLoad) and isinstance(second, BufferLoad)) or first.buffer is not second.buffer:
        return None
    if len(first.indices) != 1 or first.predicate is not None or second.predicate is not None:
        return None
    a, b = first.indices[0], second.indices[0]
    if not (isinstance(a, Ramp) and isinstance(b, Ramp) and is_const_int(a.stride, 2) and is_const_int(b.stride, 2)):
        return None
    # Common subexpressions hide how the bases are computed: both may be variables.
    if not Analyzer().can_prove_equal(substitute(b.base - a.base, definitions), 1):
        return None
    return BufferLoad(first.buffer, (Ramp(a.base, const(1, a.base.dtype), 2 * dt.lanes(first.dtype)),))


def _multiply_add(emitter: Emitter, a: ir.Value, b: ir.Value, part: int) -> ir.Value:
    """Return the sums of the products of pairs."""
    function = emitter.state.shared.declare(_INTRINSICS[part], ir.VectorType(I32, part), [a.type, b.type])
    return emitter.state.builder.call(function, [a, b])


def _joined(emitter: Emitter, parts: list[ir.Value]) -> ir.Value:
    """Concatenate vectors."""
    while len(parts) > 1:
        mask = lane_mask(list(range(2 * parts[0].type.count)))
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [emitter.state.builder.shuffle_vector(a, b, mask) for a, b in pairs]
    return parts[0]
