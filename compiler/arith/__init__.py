"""Arithmetic on symbolic integers: bounds, congruences, simplification, sets and linear equations."""

from compiler.arith import int_set
from compiler.arith.analyzer import Analyzer
from compiler.arith.const_int_bound import ConstIntBound
from compiler.arith.deduce_bound import deduce_bound
from compiler.arith.detect_linear_equation import detect_clip_bound, detect_linear_equation
from compiler.arith.int_set import IntervalSet, IntSet, eval_set, intersect, neg_inf, pos_inf, union
from compiler.arith.modular_set import ModularSet

__all__ = [
    "Analyzer",
    "ConstIntBound",
    "IntSet",
    "IntervalSet",
    "ModularSet",
    "deduce_bound",
    "detect_clip_bound",
    "detect_linear_equation",
    "eval_set",
    "int_set",
    "intersect",
    "neg_inf",
    "pos_inf",
    "union",
]
