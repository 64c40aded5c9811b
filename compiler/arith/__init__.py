"""Arithmetic on symbolic integers: bounds, congruences, simplification, sets and linear equations."""

from typing import TYPE_CHECKING

from compiler.arith import int_set
from compiler.arith.analyzer import Analyzer
from compiler.arith.const_int_bound import ConstIntBound
from compiler.arith.deduce_bound import deduce_bound
from compiler.arith.detect_linear_equation import detect_clip_bound, detect_linear_equation
from compiler.arith.int_set import IntervalSet, IntSet, intersect, neg_inf, pos_inf, union
from compiler.arith.interval_arithmetic import eval_set
from compiler.arith.modular_set import ModularSet
from compiler.ir.extension import public_module

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

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.arith", __all__)
