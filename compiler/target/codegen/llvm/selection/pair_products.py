"""Sums of two products of 16-bit integers per lane, as the x86 instruction ``pmaddwd``.

For example ``acc + int32x8(a) * int32x8(b) + int32x8(c) * int32x8(d)``, of vectors of int16: the elements of ``a`` and
``c`` are interleaved, as are those of ``b`` and ``d``, and multiplied and added in pairs.  If the CPU has VNNI, LLVM
fuses this with the addition to ``acc``.  All of it wraps around like 32-bit arithmetic, so the result is the same for
all operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from llvmlite import ir

from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Add, Broadcast, Call, Cast, Mul, PrimExpr, Ramp, Var, const, is_const_int
from compiler.ir.expr.substitute import substitute
from compiler.ir.op import Op
from compiler.target.codegen.llvm.state import Emitter
from compiler.target.codegen.llvm.types import I16, I32, lane_mask
from compiler.target.cpu.cpu_features import int16_vector_bits
from compiler.tir.expressions.builtin import REINTERPRET
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.transform.legalize.bf16_bits import BITS

BF16_BITS = BITS
"""The data type that bfloat16 is stored in."""
_NARROW = ("int16", "int8", "uint8")
PAIR_INTRINSICS = {16: "llvm.x86.avx512.pmaddw.d.512", 8: "llvm.x86.avx2.pmadd.wd", 4: "llvm.x86.sse2.pmadd.wd"}
"""The intrinsics by the number of lanes of the result."""


def pair_product(emitter: Emitter, n: Add) -> ir.Value | None:
    """Generate code for a sum that contains two products of 16-bit integers; None for other sums and other targets."""
    lanes = dt.lanes(n.dtype)
    if dt.element(n.dtype) != "int32" or lanes < min(PAIR_INTRINSICS) or lanes & (lanes - 1):
        return None
    terms = _terms(n)
    if terms is None:
        return None
    target = emitter.state.shared.target
    width = int16_vector_bits(target.triple, target.cpu, target.llvm_features) // 32
    part = next((w for w in PAIR_INTRINSICS if w <= width and w <= lanes), None)
    if part is None:
        return None
    rest, first, second = terms
    left = _interleaved(emitter, first[0], second[0], part)
    right = _interleaved(emitter, first[1], second[1], part)
    products = [_multiply_add(emitter, left(i), right(i), part) for i in range(0, lanes, part)]
    value = emitter.state.joined(products)
    return value if rest is None else emitter.state.builder.add(emitter.visit(rest), value)


Factors = tuple[PrimExpr, PrimExpr]


def _terms(n: Add) -> tuple[PrimExpr | None, Factors, Factors] | None:
    """Split a sum into the addend, if any, and the 16-bit factors of the two products."""
    last = factors(n.b)
    if last is None:
        return None
    if (first := factors(n.a)) is not None:
        return None, first, last
    if isinstance(n.a, Add):
        for rest, product in ((n.a.a, n.a.b), (n.a.b, n.a.a)):
            if (first := factors(product)) is not None:
                return rest, first, last
    return None


def factors(product: PrimExpr, dtypes: Sequence[str] = _NARROW) -> Factors | None:
    """Return the factors of a product before their conversion to 32 bits, if they are of some data types.

    Among these, :data:`BF16_BITS` are those of bfloat16.
    """
    if not isinstance(product, Mul):
        return None
    a, b = _narrow(product.a, dtypes), _narrow(product.b, dtypes)
    return None if a is None or b is None else (a, b)


def _narrow(factor: PrimExpr, dtypes: Sequence[str]) -> PrimExpr | None:
    """Return a factor before its conversion to 32 bits; a scalar if it is a broadcast."""
    is_same = isinstance(factor, Broadcast)
    wide = factor.value if isinstance(factor, Broadcast) else factor
    narrow = _bits_of_half(wide) if BF16_BITS in dtypes else wide.value if isinstance(wide, Cast) else None
    if narrow is None or dt.element(narrow.dtype) not in dtypes:
        return None
    if is_same and dt.lanes(wide.dtype) > 1:
        return None
    value = narrow
    return value.value if isinstance(value, Broadcast) and dt.lanes(value.value.dtype) == 1 else value


def _bits_of_half(wide: PrimExpr) -> PrimExpr | None:
    """Return the bits of a bfloat16 from its conversion to float32: a shift by half a word."""
    if not (isinstance(wide, Call) and wide.op is REINTERPRET and dt.element(wide.dtype) == "float32"):
        return None
    shift = wide.args[0]
    if not (isinstance(shift, Call) and isinstance(shift.op, Op) and shift.op.name == "tir.shift_left"):
        return None
    bits, by = shift.args
    by = by.value if isinstance(by, Broadcast) else by
    is_widened = isinstance(bits, Cast) and dt.element(bits.value.dtype) == BF16_BITS
    return bits.value if is_widened and isinstance(bits, Cast) and is_const_int(by, 16) else None


def split_sum(n: Add, dtypes: Sequence[str], count: int) -> tuple[PrimExpr | None, list[Factors]] | None:
    """Split a sum into the rest, if any, and the factors of ``count`` products of the same of some data types."""
    rest, products, pending = None, [], [n.b, n.a]
    for _ in range(4 * count):  # of longer sums, the parts are looked at one by one
        if not pending:
            break
        addend = pending.pop()
        if (found := factors(addend, dtypes)) is not None:
            products.append(found)
        elif isinstance(addend, Add):
            pending += [addend.b, addend.a]
        else:
            rest = addend if rest is None else rest + addend
    types = {tuple(dt.element(f.dtype) for f in each) for each in products}
    return (rest, products) if not pending and len(products) == count and len(types) == 1 else None


def _interleaved(emitter: Emitter, first: PrimExpr, second: PrimExpr, part: int) -> Callable[[int], ir.Value]:
    """Return what gives the pairs of ``part`` lanes from some lane on."""
    builder = emitter.state.builder
    load = row((first, second), emitter.state.definitions)
    if load is not None and dt.lanes(first.dtype) > 1:
        lanes = emitter.convert(emitter.visit(load), load.dtype, dt.with_lanes("int16", dt.lanes(load.dtype)))
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


def row(parts: Sequence[PrimExpr], definitions: Mapping[Var, PrimExpr], in_turn: bool = True) -> BufferLoad | None:
    """Return one load of what several loads read, in turn or one after another, if it is contiguous in memory.

    For example ``w[8 * k : … : 4]`` to ``w[8 * k + 3 : … : 4]`` are ``w[8 * k : …]`` in turn, as in ``OIHW4i8o2i``, and
    ``x[k]`` to ``x[k + 3]`` are ``x[k : k + 4]``.
    """
    loads = [e for e in parts if isinstance(e, BufferLoad) and len(e.indices) == 1 and e.predicate is None]
    buffer = loads[0].buffer if len(loads) == len(parts) else None
    if buffer is None or (in_turn and dt.is_vector(buffer.dtype)) or any(each.buffer is not buffer for each in loads):
        return None
    bases = [_base(each.indices[0], len(parts) if in_turn else 1) for each in loads]
    first, lanes = bases[0], dt.lanes(loads[0].indices[0].dtype)
    if first is None:
        return None
    for place, base in enumerate(bases[1:], start=1):
        # Common subexpressions hide how the bases are computed: both may be variables.
        apart = place if in_turn else place * lanes
        if base is None or not Analyzer().can_prove_equal(substitute(base - first, definitions), apart):
            return None
    return BufferLoad(buffer, (Ramp(first, const(1, first.dtype), len(parts) * lanes),))


def _base(index: PrimExpr, stride: int) -> PrimExpr | None:
    """Return the first of indices that are ``stride`` apart, or the only one."""
    if isinstance(index, Ramp):
        return index.base if is_const_int(index.stride, stride) else None
    return index if dt.lanes(index.dtype) == 1 else None


def _multiply_add(emitter: Emitter, a: ir.Value, b: ir.Value, part: int) -> ir.Value:
    """Return the sums of the products of pairs."""
    function = emitter.state.shared.declare(PAIR_INTRINSICS[part], ir.VectorType(I32, part), [a.type, b.type])
    return emitter.state.builder.call(function, [a, b])
