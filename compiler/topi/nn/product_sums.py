"""Sums of products of narrow numbers, two or four products per step.

CPUs multiply 16-bit integers or bfloat16 in pairs, or bytes in fours, and add the products to a sum of 32 bits in one
instruction or two, such as x86's ``pmaddwd``, ``vpdpwssd``, ``vpdpbusd`` and ``vdpbf16ps``, and AArch64's ``sdot`` and
``bfdot``.  A definition that adds as many products in each step of its reduction lets code generation use them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.ir.expr.primexpr import PrimExpr
from compiler.target.cpu.cpu_features import (
    half_product_bits,
    int16_vector_bits,
    integer_products,
    matrix_dtypes,
    tile_dtypes,
)
from compiler.target.target import Target
from compiler.topi.compute import computes_by_threads
from compiler.topi.operands import Extent

__all__ = [
    "NARROW", "TILE_ROWS", "fills_tiles", "has_byte_products", "has_half_products", "has_matrices",
    "has_pair_products", "has_tiles", "missing_products", "products_per_step", "step_sum",
]  # fmt: skip

TILE_ROWS = 16
"""Rows of a tile register, each of 64 bytes: of 16 sums, or of 16 groups of products."""
_MIN_GROUPS = 4
NARROW = ("int16", "int8", "uint8")
"""Data types whose values int16 holds."""


def has_pair_products(target: Target) -> bool:
    """Return whether a target multiplies pairs of 16-bit integers that stand side by side in memory."""
    return target.kind == "llvm" and int16_vector_bits(target.triple, target.cpu, target.llvm_features) > 0


def has_byte_products(target: Target | None, first: str, second: str) -> bool:
    """Return whether a target multiplies bytes of these data types, in this order or the other, in fours."""
    if target is None or target.kind != "llvm":
        return False
    return integer_products(target.triple, target.cpu, target.llvm_features, first, second) == 4


def has_tiles(target: Target | None, dtype: str) -> bool:
    """Return whether a target multiplies ``bfloat16`` or ``int8`` in tile registers."""
    if target is None or target.kind != "llvm":
        return False
    return dtype in tile_dtypes(target.triple, target.cpu, target.llvm_features)


def has_matrices(target: Target, dtype: str) -> bool:
    """Return whether a target multiplies two rows by two columns of ``bfloat16`` or ``int8`` at once."""
    return target.kind == "llvm" and dtype in matrix_dtypes(target.triple, target.cpu, target.llvm_features)


def fills_tiles(groups: int) -> bool:
    """Return whether a sum over groups of products that stand side by side is one over tiles of enough of them."""
    return max(d for d in range(1, TILE_ROWS + 1) if groups % d == 0) >= _MIN_GROUPS


def has_half_products(target: Target | None) -> bool:
    """Return whether a target multiplies pairs of bfloat16 that stand side by side in memory."""
    if target is None or target.kind != "llvm":
        return False
    widths = half_product_bits(target.triple, target.cpu, target.llvm_features)
    return bool(widths) or has_tiles(target, "bfloat16")


def products_per_step(extent: Extent, dtypes: Sequence[str], out_dtype: str) -> int:
    """Return how many of the ``extent`` products of a sum each step of it adds.

    On a CPU they are 4 for products of bytes that the current target multiplies in fours, and 2 for other narrow
    integers, and bfloat16 where the target multiplies pairs of it, if they are summed in 32 bits and the extent is a
    multiple; else 1.
    """
    if not isinstance(extent, int) or extent % 2:
        return 1
    if set(dtypes) == {"bfloat16"} and out_dtype == "float32":
        target = Target.current()
        return 2 if has_half_products(target) and (fills_tiles(extent // 2) or not has_tiles(target, "bfloat16")) else 1
    if not _come_in_pairs(dtypes, out_dtype):
        return 1
    return 4 if extent % 4 == 0 and has_byte_products(Target.current(), *dtypes) else 2


def missing_products(extent: Extent, dtypes: Sequence[str], out_dtype: str) -> int:
    """Return how many products of zeros make an axis of a reduction one that adds two in each step.

    That is 1 for an odd number of products, of which there are two or more, of narrow integers; else 0.
    """
    is_odd = isinstance(extent, int) and extent > 1 and extent % 2 == 1
    return 1 if is_odd and _come_in_pairs(dtypes, out_dtype) else 0


def _come_in_pairs(dtypes: Sequence[str], out_dtype: str) -> bool:
    return out_dtype == "int32" and all(dtype in NARROW for dtype in dtypes) and not computes_by_threads()


def step_sum(step: PrimExpr, products: int, term: Callable[[PrimExpr], PrimExpr]) -> PrimExpr:
    """Return what one step of a reduction adds, of as many products as :func:`products_per_step` says."""
    if products == 1:
        return term(step)
    total = term(step * products)
    for i in range(1, products):
        total = total + term(step * products + i)
    return total
