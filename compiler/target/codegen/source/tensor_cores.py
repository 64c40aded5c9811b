"""Tensor cores in CUDA C: ``nvcuda::wmma`` fragments, and inline PTX on the registers of a warp.

References
----------
NVIDIA, "CUDA C++ Programming Guide", section "Warp Matrix Functions"; "Parallel Thread Execution ISA", sections
"mma" and "ldmatrix".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr, StringImm, Var
from compiler.ir.origin import user_place
from compiler.target.codegen.source.device import CallRule
from compiler.tir.expressions.builtin import ACCESS_PTR

if TYPE_CHECKING:
    from compiler.target.codegen.source.expressions import Expressions

ACCUMULATOR = "wmma.accumulator"
FRAGMENTS = {
    "wmma.matrix_a": "nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, {shape}, {type}, nvcuda::wmma::{layout}> "
    "{name}[{count}];",
    "wmma.matrix_b": "nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, {shape}, {type}, nvcuda::wmma::{layout}> "
    "{name}[{count}];",
    ACCUMULATOR: "nvcuda::wmma::fragment<nvcuda::wmma::accumulator, {shape}, {type}> {name}[{count}];",
}
"""The declarations of fragments by storage scope."""
_LAYOUTS = ("row_major", "col_major")


def elements_of_fragment(scope: str, shape: str) -> int:
    """Return the number of elements of a fragment; ``m, n, k`` is the product's shape as set by ``InferFragment``."""
    m, n, k = map(int, shape.split(","))
    return {"wmma.matrix_a": m * k, "wmma.matrix_b": k * n}.get(scope, m * n)


class _Operand(NamedTuple):
    """A data type of ``mma`` instructions."""

    ptx: str
    bits: int
    constraint: str = "r"


_OPERANDS = {
    "fp16": _Operand("f16", 16),
    "float16": _Operand("f16", 16),
    "bf16": _Operand("bf16", 16),
    "tf32": _Operand("tf32", 32),
    "int8": _Operand("s8", 8),
    "uint8": _Operand("u8", 8),
    "int4": _Operand("s4", 4),
    "uint4": _Operand("u4", 4),
    "fp32": _Operand("f32", 32, "f"),
    "float32": _Operand("f32", 32, "f"),
    "int32": _Operand("s32", 32),
    "fp64": _Operand("f64", 64, "d"),
}
_REGISTERS = {"r": "unsigned", "f": "float", "d": "double"}
_REGISTER_BITS = {"r": 32, "f": 32, "d": 64}
_WARP = 32


def _pointer(e: Expressions, access: PrimExpr) -> None:
    """Emit a pointer to elements, from ``tvm_access_ptr`` or any other pointer."""
    if not isinstance(access, Call) or access.op is not ACCESS_PTR:
        e.write(access)
        return
    kind, data, offset = access.args[:3]
    typ = e.language.type(kind.dtype)
    has_type = isinstance(data, Var) and e.elements.get(data) == kind.dtype
    e.write("&" if has_type else f"&(({typ}*)", data, "[" if has_type else ")[", offset, "]")


def _address(e: Expressions, data: PrimExpr, offset: PrimExpr) -> None:
    """Emit the address of an element."""
    e.write(data, " + (", offset, ")")


def _word(n: PrimExpr, choices: tuple[str, ...]) -> str:
    """Return a string argument, which must be one of the given words."""
    if isinstance(n, StringImm) and n.value in choices:
        return n.value
    raise BuildError(f"build: tensor cores support {', '.join(choices)}, got {n}{user_place(n.span)}")


def _load(e: Expressions, n: Call, level: int) -> None:
    fragment, *_, index, source, stride, layout = n.args
    _word(layout, _LAYOUTS)
    e.write("nvcuda::wmma::load_matrix_sync(", fragment, "[", index, "], ")
    _pointer(e, source)
    e.write(", ", stride, ")")


def _store(e: Expressions, n: Call, level: int) -> None:
    fragment, *_, index, target, stride, layout = n.args
    e.write("nvcuda::wmma::store_matrix_sync(")
    _pointer(e, target)
    e.write(", ", fragment, "[", index, "], ", stride, f", nvcuda::wmma::mem_{_word(layout, _LAYOUTS)})")


def _multiply(e: Expressions, n: Call, level: int) -> None:
    e.write("nvcuda::wmma::mma_sync(")
    for at in range(0, len(n.args), 2):
        e.write(", " if at else "", n.args[at], "[", n.args[at + 1], "]")
    e.write(")")


def _mma(e: Expressions, n: Call, level: int) -> None:
    """Emit ``mma.sync``, whose operands and accumulator are in the registers of the warp."""
    form, layouts, kinds = n.args[0], n.args[1:3], n.args[3:6]
    shape = _word(form, _SHAPES)
    m, k_n = shape.removeprefix("m").split("n")
    extents = (int(m), *map(int, k_n.split("k")))
    rows, columns, depth = extents
    a, b, c = (_OPERANDS[_word(kind, tuple(_OPERANDS))] for kind in kinds)
    counts = [
        size * operand.bits // _REGISTER_BITS[operand.constraint] // _WARP
        for size, operand in ((rows * depth, a), (depth * columns, b), (rows * columns, c))
    ]
    words = [_word(layout, ("row", "col")) for layout in layouts]
    saturate = ".satfinite" if isinstance(n.args[12], IntImm) and n.args[12].value else ""
    instruction = f"mma.sync.aligned.{shape}.{words[0]}.{words[1]}{saturate}.{c.ptx}.{a.ptx}.{b.ptx}.{c.ptx}"
    numbered = iter(f"%{number}" for number in range(counts[2] * 2 + counts[0] + counts[1]))
    lists = [f"{{{', '.join(next(numbered) for _ in range(count))}}}" for count in (counts[2], *counts)]
    e.write(f'asm volatile("{instruction} {", ".join(lists)};"')
    e.write(" : ")
    _registers(e, n.args[10], n.args[11], c, counts[2], "=")
    e.write(" : ")
    for at, (operand, count) in enumerate(zip((a, b, c), counts, strict=True)):
        e.write(", " if at else "")
        _registers(e, n.args[6 + 2 * at], n.args[7 + 2 * at], operand, count, "")
    e.write(")")


_SHAPES = (
    "m8n8k4", "m8n8k16", "m8n8k32", "m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32", "m16n8k64", "m16n8k128", "m16n8k256"
)  # fmt: skip


def _registers(e: Expressions, data: PrimExpr, offset: PrimExpr, operand: _Operand, count: int, access: str) -> None:
    """Emit the elements of a thread as registers, packing narrow ones."""
    typ = _REGISTERS[operand.constraint]
    for number in range(count):
        e.write(", " if number else "", f'"{access}{operand.constraint}"((({typ}*)(')
        _address(e, data, offset)
        e.write(f"))[{number}])")


def _ldmatrix(e: Expressions, n: Call, level: int) -> None:
    """Emit ``ldmatrix``: 8 x 8 matrices of 16-bit elements, of which each thread provides a row address."""
    transposed, count, kind, local, at, shared, row = n.args
    if not isinstance(count, IntImm) or count.value not in (1, 2, 4):
        raise BuildError(f"build: ldmatrix loads 1, 2 or 4 matrices, got {count}{user_place(n.span)}")
    trans = ".trans" if isinstance(transposed, IntImm) and transposed.value else ""
    results = ", ".join(f"%{number}" for number in range(count.value))
    form = f"ldmatrix.sync.aligned.m8n8.x{count.value}{trans}.shared{_word(kind, ('.b16',))}"
    e.write(f'asm volatile("{form} {{{results}}}, [%{count.value}];" : ')
    _registers(e, local, at, _Operand("b32", 32), count.value, "=")
    e.write(' : "r"((unsigned)__cvta_generic_to_shared(')
    _pointer(e, shared)
    e.write(" + (", row, "))))")


def _fill(e: Expressions, n: Call, level: int) -> None:
    """Emit the zero-initialisation of an accumulator in registers."""
    count, data, offset = n.args
    typ = e.language.type(n.dtype)
    e.write("for (int i = 0; i < ", count, f"; ++i) (({typ}*)", data, ")[(", offset, ") + i] = 0")


def _store_registers(e: Expressions, n: Call, level: int) -> None:
    """Emit the store of a 16 x 16 accumulator, of which a thread holds two adjacent elements in each of four rows."""
    rows, columns, target, data, offset, stride = n.args
    if any(not isinstance(extent, IntImm) or extent.value != _TILE for extent in (rows, columns)):
        raise BuildError(f"build: mma_store stores {_TILE} x {_TILE} elements, got {rows} x {columns}")
    typ = e.language.type(n.dtype)
    e.write("for (int i = 0; i < 8; ++i) (")
    _pointer(e, target)
    e.write(
        ")[((threadIdx.x % 32) / 4 + (i / 2 % 2) * 8) * (", stride, ") + (threadIdx.x % 4) * 2 + i % 2 + i / 4 * 8]"
    )
    e.write(f" = (({typ}*)", data, ")[(", offset, ") + i]")


def _dot_product(e: Expressions, n: Call, level: int) -> None:
    """Emit ``__dp4a`` of words that hold four bytes each."""
    first, second, total = n.args
    word = e.language.type(n.dtype)
    e.write(f"__dp4a(*(const {word}*)", first, f", *(const {word}*)", second, ", ", total, ")")


_TILE = 16

CALLS: dict[str, CallRule] = {
    "tir.tvm_fill_fragment": lambda e, n, level: e.fill("nvcuda::wmma::fill_fragment({0}[{4}], {5})", *n.args),
    "tir.tvm_load_matrix_sync": _load,
    "tir.tvm_store_matrix_sync": _store,
    "tir.tvm_mma_sync": _multiply,
    "tir.ptx_mma": _mma,
    "tir.ptx_ldmatrix": _ldmatrix,
    "tir.mma_fill": _fill,
    "tir.mma_store": _store_registers,
    "tir.dp4a": _dot_product,
}
"""The emitters of tensor core operators and 8-bit dot products."""
