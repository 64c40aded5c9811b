"""Numbers of iterations of nests of loops."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.arith.analyzer import Analyzer
from compiler.arith.const_int_bound import inner_bound, type_interval
from compiler.ir.dtype import is_integral
from compiler.ir.expr.primexpr import Max, PrimExpr, const
from compiler.ir.expr.substitute import free_vars


def product_of_extents(extents: Sequence[PrimExpr], analyzer: Analyzer) -> PrimExpr:
    """Return how often a nest of loops runs its body; at most zero where a loop runs no iteration.

    Extents of loops that are cut to what a guard leaves may be below zero, as ``min(i, 2) - max(i - 1, 0)`` is for a
    large ``i``, and the product of two such would be above. Variables that ``analyzer`` knows nothing about are taken
    for sizes, which are not negative, and it keeps that.
    """
    for var in free_vars(tuple(extents)):
        if is_integral(var.dtype) and inner_bound(analyzer.const_int_bound(var))[0] <= type_interval(var.dtype)[0]:
            analyzer.mark_global_non_neg(var)
    known = [analyzer.can_prove(extent >= 0) for extent in extents]
    product: PrimExpr = const(1, extents[0].dtype)
    for extent, is_known in zip(extents, known, strict=True):
        product = product * (extent if is_known or known.count(False) == 1 else Max(extent, const(0, extent.dtype)))
    return analyzer.simplify(product)
