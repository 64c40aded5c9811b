"""Sums of four products of bytes per lane: x86's ``vpdpbusd``, AArch64's ``sdot``, ``udot`` and ``usdot``.

For example ``acc + Σ int32x16(a[k + i]) * int32x16(b[16 * k + i : … : 4])`` over four ``i``: the bytes of each lane
stand side by side in memory, those of ``a`` are the same for all lanes.  The instructions wrap around like 32-bit
arithmetic, so the result is the same for all operands.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Add, PrimExpr
from compiler.target.codegen.llvm.selection.pair_products import Factors, factors, joined, row
from compiler.target.codegen.llvm.state import Emitter, suffix
from compiler.target.codegen.llvm.types import I8, I32, constant, lane_mask
from compiler.target.cpu.cpu_features import byte_product_bits

__all__ = ["byte_product"]

_BYTES = ("uint8", "int8")
_PER_LANE = 4
_MAX_ADDENDS = 2 * _PER_LANE
"""Of longer sums, the parts are looked at one by one."""
_AARCH64 = {("uint8", "int8"): "usdot", ("int8", "int8"): "sdot", ("uint8", "uint8"): "udot"}


def byte_product(emitter: Emitter, n: Add) -> ir.Value | None:
    """Generate code for a sum that contains four products of bytes; None for other sums and other targets."""
    lanes = dt.lanes(n.dtype)
    if dt.element(n.dtype) != "int32" or lanes < _PER_LANE or lanes & (lanes - 1):
        return None
    split = _split(n)
    if split is None:
        return None
    rest, products = split
    types = (dt.element(products[0][0].dtype), dt.element(products[0][1].dtype))
    if types == ("int8", "uint8"):
        types, products = types[::-1], [(b, a) for a, b in products]
    target = emitter.state.shared.target
    widths = byte_product_bits(target.triple, target.cpu, target.llvm_features, *types)
    part = next((bits // 32 for bits in widths if bits // 32 <= lanes), None)
    rows = [row(side, emitter.state.definitions) for side in zip(*products, strict=True)]
    if part is None or rows[0] is None or rows[1] is None:
        return None
    left, right = (_lanes(emitter, emitter.visit(load), part) for load in rows if load is not None)
    sums = emitter.visit(rest) if rest is not None else constant(ir.VectorType(I32, lanes), 0)
    name = "llvm.x86.avx512.vpdpbusd." + str(part * 32)
    if not target.triple.startswith(("x86_64", "i686")):
        name = f"llvm.aarch64.neon.{_AARCH64[types]}.{suffix(ir.VectorType(I32, part))}.v{part * _PER_LANE}i8"
    bytes_type, sums_type = ir.VectorType(I8, part * _PER_LANE), ir.VectorType(I32, part)
    function = emitter.state.shared.declare(name, sums_type, [sums_type, bytes_type, bytes_type])
    builder, parts = emitter.state.builder, []
    for start in range(0, lanes, part):
        addend = sums
        if part < lanes:
            addend = builder.shuffle_vector(sums, sums, lane_mask(list(range(start, start + part))))
        parts.append(builder.call(function, [addend, left(start), right(start)]))
    return joined(emitter, parts)


def _split(n: Add) -> tuple[PrimExpr | None, list[Factors]] | None:
    """Split a sum into the rest, if any, and the factors of four products of bytes of the same types."""
    rest, products, pending = None, [], [n.b, n.a]
    for _ in range(2 * _MAX_ADDENDS):
        if not pending:
            break
        addend = pending.pop()
        if (found := factors(addend, _BYTES)) is not None:
            products.append(found)
        elif isinstance(addend, Add):
            pending += [addend.b, addend.a]
        else:
            rest = addend if rest is None else rest + addend
    types = {tuple(dt.element(f.dtype) for f in each) for each in products}
    return (rest, products) if not pending and len(products) == _PER_LANE and len(types) == 1 else None


def _lanes(emitter: Emitter, value: ir.Value, part: int) -> Callable[[int], ir.Value]:
    """Return what gives the bytes of ``part`` lanes from some lane on, of four bytes or four for each lane."""
    builder = emitter.state.builder
    if value.type.count == _PER_LANE:
        same = emitter.state.splat(builder.bitcast(value, I32), part)
        repeated = builder.bitcast(same, ir.VectorType(I8, _PER_LANE * part))
        return lambda start: repeated
    if value.type.count == _PER_LANE * part:
        return lambda start: value
    return lambda start: builder.shuffle_vector(
        value, value, lane_mask(list(range(_PER_LANE * start, _PER_LANE * (start + part))))
    )
