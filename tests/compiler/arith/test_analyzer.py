"""What an analyzer is told, and what it says of its work."""

import pytest

import compiler as tvm
from compiler import tir
from compiler.ir.error import ArgumentError


def test_what_is_known_is_not_replaced_unasked():
    analyzer, x = tvm.arith.Analyzer(), tir.Var("x", "int32")
    analyzer.update(x, tvm.arith.ConstIntBound(0, 10))
    analyzer.update(x, tvm.arith.ConstIntBound(0, 5), override=True)
    assert analyzer.const_int_bound(x).max_value == 5
    analyzer.update(x, tvm.arith.ModularSet(3, 1))
    for info in (tvm.arith.ConstIntBound(0, 3), tvm.arith.ModularSet(4, 1)):
        with pytest.raises(ArgumentError, match="override=True replaces it"):
            analyzer.update(x, info)


def test_the_simplifier_counts_what_it_does():
    analyzer, x = tvm.arith.Analyzer(), tir.Var("x", "int32")
    assert analyzer.rewrite_simplify_stats.nodes_visited == 0
    analyzer.rewrite_simplify((x + 3) * 2 < x * 2)
    with analyzer.constraint_scope(x > 3):
        stats = analyzer.rewrite_simplify_stats
    assert stats.nodes_visited >= stats.rewrites_performed > 0
    assert stats.constraints_entered == 1
    analyzer.reset_rewrite_simplify_stats()
    assert analyzer.rewrite_simplify_stats.nodes_visited == 0
