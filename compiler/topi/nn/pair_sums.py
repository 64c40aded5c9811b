"""Sums of products of narrow integers, two products per step.

CPUs multiply 16-bit integers in pairs and add both products to a sum of 32 bits in one instruction or two, such as
x86's ``pmaddwd`` and ``vpdpwssd``.  A definition that adds two products in each step of its reduction lets code
generation use them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.ir.expr.primexpr import PrimExpr
from compiler.target.cpu.cpu_features import int16_vector_bits
from compiler.target.target import Target
from compiler.topi.compute import computes_by_threads
from compiler.topi.operands import Extent

__all__ = ["NARROW", "has_pair_products", "missing_products", "products_per_step", "step_sum"]

NARROW = ("int16", "int8", "uint8")
"""Data types whose values int16 holds."""


def has_pair_products(target: Target) -> bool:
    """Return whether a target multiplies pairs of 16-bit integers that stand side by side in memory."""
    return target.kind == "llvm" and int16_vector_bits(target.triple, target.cpu, target.llvm_features) > 0


def products_per_step(extent: Extent, dtypes: Sequence[str], out_dtype: str) -> int:
    """Return how many of the ``extent`` products of a sum each step of it adds.

    They are 2 for an even number of products of narrow integers that are summed in 32 bits on a CPU, else 1.
    """
    is_even = isinstance(extent, int) and extent % 2 == 0
    return 2 if is_even and _come_in_pairs(dtypes, out_dtype) else 1


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
