"""Sums of a few products per lane: of bytes in fours, of bfloat16 in pairs.

The instructions are x86's ``vpdpbusd`` and ``vdpbf16ps``, AArch64's ``sdot``, ``udot``, ``usdot`` and ``bfdot``.  For
example ``acc + Σ int32x16(a[k + i]) * int32x16(b[16 * k + i : … : 4])`` over four ``i``: the bytes of each lane stand
side by side in memory, those of ``a`` are the same for all lanes.

Sums of bytes wrap around like 32-bit arithmetic, so the result is the same for all operands.  Those of bfloat16 are
float32; the products are exact, each addition is rounded to nearest, and the two products may be added before the sum
they are added to.  Denormal numbers count as zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Add, PrimExpr, Ramp, is_const_int
from compiler.target.codegen.llvm.selection.pair_products import BF16_BITS, row, split_sum
from compiler.target.codegen.llvm.state import Emitter, suffix
from compiler.target.codegen.llvm.types import I8, I32, BFloatType, constant, lane_mask, register_type
from compiler.target.cpu.cpu_features import byte_product_bits, half_product_bits
from compiler.tir.statements.buffer import BufferLoad

_GROUPS = {"int32": (("uint8", "int8"), 4), "float32": ((BF16_BITS,), 2)}
"""What is multiplied for sums of a data type, and how many products each lane adds."""
_MIN_LANES = 4
_AARCH64 = {
    ("uint8", "int8"): "usdot",
    ("int8", "int8"): "sdot",
    ("uint8", "uint8"): "udot",
    (BF16_BITS, BF16_BITS): "bfdot",
}


def dot_product(emitter: Emitter, n: Add) -> ir.Value | None:
    """Generate code for a sum that contains a group of products; None for other sums and other targets."""
    lanes, element = dt.lanes(n.dtype), dt.element(n.dtype)
    if element not in _GROUPS or lanes < _MIN_LANES or lanes & (lanes - 1):
        return None
    dtypes, group = _GROUPS[element]
    split = split_sum(n, dtypes, group)
    if split is None:
        return None
    rest, products = split
    types = (dt.element(products[0][0].dtype), dt.element(products[0][1].dtype))
    if types == ("int8", "uint8"):
        types, products = types[::-1], [(b, a) for a, b in products]
    part = next((bits // 32 for bits in _widths(emitter, types) if bits // 32 <= lanes), None)
    read = [_in_turn(emitter, side) for side in zip(*products, strict=True)]
    if part is None or None in read:
        return None
    left, right = (_lanes(emitter, values(), part, group) for values in read if values is not None)
    sums = emitter.visit(rest) if rest is not None else constant(register_type(n.dtype), 0)
    factor = ir.VectorType(I8, 4 * part) if element == "int32" else ir.VectorType(BFloatType(), 2 * part)
    function = _instruction(emitter, types, ir.VectorType(sums.type.element, part), factor)
    builder, parts = emitter.state.builder, []
    for start in range(0, lanes, part):
        addend = sums
        if part < lanes:
            addend = builder.shuffle_vector(sums, sums, lane_mask(list(range(start, start + part))))
        factors = [builder.bitcast(side(start), factor) for side in (left, right)]
        parts.append(builder.call(function, [addend, *factors]))
    return emitter.state.joined(parts)


def _in_turn(emitter: Emitter, factors: Sequence[PrimExpr]) -> Callable[[], ir.Value] | None:
    """Return what generates the factors of a group in turn, lane by lane; None unless memory, or x86, has them so."""
    if (load := row(factors, emitter.state.definitions)) is not None:
        return lambda: emitter.visit(load)
    if not (emitter.state.shared.target.triple.startswith("x86_64") and all(map(_is_vector_of_bytes, factors))):
        return None
    lanes, count = dt.lanes(factors[0].dtype), len(factors)

    def values() -> ir.Value:
        load = row(factors, emitter.state.definitions, in_turn=False)
        vectors = emitter.state.joined([emitter.visit(e) for e in factors]) if load is None else emitter.visit(load)
        mask = lane_mask([vector * lanes + lane for lane in range(lanes) for vector in range(count)])
        return emitter.state.builder.shuffle_vector(vectors, vectors, mask)

    return values


def _is_vector_of_bytes(e: PrimExpr) -> bool:
    """Return whether an expression loads bytes that are neighbours in memory."""
    if not isinstance(e, BufferLoad) or len(e.indices) != 1 or e.predicate is not None or dt.bits(e.dtype) != 8:
        return False
    index = e.indices[0]
    return is_const_int(index.stride, 1) if isinstance(index, Ramp) else dt.is_vector(e.buffer.dtype)


def _widths(emitter: Emitter, types: tuple[str, str]) -> tuple[int, ...]:
    """Return the widths in bits of the vectors that the target multiplies in groups, the widest first."""
    target = emitter.state.shared.target
    machine = (target.triple, target.cpu, target.llvm_features)
    return half_product_bits(*machine) if BF16_BITS in types else byte_product_bits(*machine, *types)


def _instruction(emitter: Emitter, types: tuple[str, str], sums: ir.VectorType, factor: ir.VectorType) -> ir.Function:
    name = dot_intrinsic(emitter.state.shared.target.triple, types, sums, factor)
    return emitter.state.shared.declare(name, sums, [sums, factor, factor])


def dot_intrinsic(triple: str, types: tuple[str, str], sums: ir.VectorType, factor: ir.VectorType) -> str:
    """Return the name of LLVM's intrinsic that adds products of these types to sums, on a processor that has it."""
    if not triple.startswith(("x86_64", "i686")):
        kind = "bf16" if BF16_BITS in types else "i8"
        return f"llvm.aarch64.neon.{_AARCH64[types]}.{suffix(sums)}.v{factor.count}{kind}"
    instruction = "avx512bf16.dpbf16ps" if BF16_BITS in types else "avx512.vpdpbusd"
    return f"llvm.x86.{instruction}.{32 * sums.count}"


def _lanes(emitter: Emitter, value: ir.Value, part: int, group: int) -> Callable[[int], ir.Value]:
    """Return what gives the groups of ``part`` lanes from some lane on, of one group or one for each lane."""
    builder = emitter.state.builder
    if value.type.count == group:
        same = emitter.state.splat(builder.bitcast(value, I32), part)
        return lambda start: same
    if value.type.count == group * part:
        return lambda start: value
    return lambda start: builder.shuffle_vector(
        value, value, lane_mask(list(range(group * start, group * (start + part))))
    )
