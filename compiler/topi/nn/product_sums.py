"""Sums of products of narrow integers, two or four products per step.

CPUs multiply 16-bit integers in pairs, or bytes in fours, and add the products to a sum of 32 bits in one instruction
or two, such as x86's ``pmaddwd``, ``vpdpwssd`` and ``vpdpbusd``, and AArch64's ``sdot``.  A definition that adds as
many products in each step of its reduction lets code generation use them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.ir.expr.primexpr import PrimExpr
from compiler.target.cpu.cpu_features import byte_product_bits, int16_vector_bits
from compiler.target.target import Target
from compiler.topi.compute import computes_by_threads
from compiler.topi.operands import Extent

__all__ = ["NARROW", "has_byte_products", "has_pair_products", "missing_products", "products_per_step", "step_sum"]

NARROW = ("int16", "int8", "uint8")
"""Data types whose values int16 holds."""


def has_pair_products(target: Target) -> bool:
    """Return whether a target multiplies pairs of 16-bit integers that stand side by side in memory."""
    return target.kind == "llvm" and int16_vector_bits(target.triple, target.cpu, target.llvm_features) > 0


def has_byte_products(target: Target | None, first: str, second: str) -> bool:
    """Return whether a target multiplies bytes of these data types, in this order or the other, in fours."""
    if target is None or target.kind != "llvm" or not {first, second} <= {"int8", "uint8"}:
        return False
    return bool(byte_product_bits(target.triple, target.cpu, target.llvm_features, *sorted((first, second))[::-1]))


def products_per_step(extent: Extent, dtypes: Sequence[str], out_dtype: str) -> int:
    """Return how many of the ``extent`` products of a sum each step of it adds.

    On a CPU they are 4 for products of bytes that the current target multiplies in fours, and 2 for other narrow
    integers, if they are summed in 32 bits and the extent is a multiple; else 1.
    """
    if not isinstance(extent, int) or extent % 2 or not _come_in_pairs(dtypes, out_dtype):
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
