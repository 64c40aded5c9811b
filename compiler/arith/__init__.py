"""Arithmetic on symbolic integers: bounds, congruences, simplification, sets, affine maps and linear equations."""

from typing import TYPE_CHECKING

from compiler.arith import int_set
from compiler.arith.analyzer import Analyzer, ProofStrength
from compiler.arith.const_int_bound import ConstIntBound
from compiler.arith.extension import Extension
from compiler.arith.int_constraints import IntConstraints, IntConstraintsTransform, IntGroupBounds
from compiler.arith.int_set import IntervalSet, IntSet, intersect, neg_inf, pos_inf, union
from compiler.arith.interval_arithmetic import eval_set
from compiler.arith.iterators.detect_iter_map import (
    IterMapResult,
    detect_iter_map,
    iter_map_simplify,
    normalize_to_iter_sum,
)
from compiler.arith.iterators.inverse_affine_iter_map import inverse_affine_iter_map
from compiler.arith.iterators.iter_map import (
    IterMapExpr,
    IterMapLevel,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    normalize_iter_map_to_expr,
)
from compiler.arith.iterators.subspace_divide import subspace_divide
from compiler.arith.linear.deduce_bound import deduce_bound
from compiler.arith.linear.detect_linear_equation import detect_clip_bound, detect_linear_equation
from compiler.arith.modular_set import ModularSet
from compiler.arith.region_bounds import (
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
)
from compiler.ir.extension import public_module

__all__ = [
    "Analyzer", "ConstIntBound", "Extension", "IntConstraints", "IntConstraintsTransform", "IntGroupBounds", "IntSet",
    "IntervalSet", "IterMapExpr", "IterMapLevel", "IterMapResult", "IterMark", "IterSplitExpr", "IterSumExpr",
    "ModularSet", "ProofStrength", "deduce_bound", "detect_clip_bound", "detect_iter_map", "detect_linear_equation",
    "estimate_region_lower_bound", "estimate_region_strict_bound", "estimate_region_upper_bound", "eval_set", "int_set",
    "intersect", "inverse_affine_iter_map", "iter_map_simplify", "neg_inf", "normalize_iter_map_to_expr",
    "normalize_to_iter_sum", "pos_inf", "subspace_divide", "union",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.arith", __all__)
