"""Reductions: what their axes and conditions say about their sources, and those over no axes."""

from __future__ import annotations

import pytest

from compiler.arith import Analyzer
from compiler.ir.expr.primexpr import CommReducer, IntImm, IterVar, PrimExpr, Reduce, Select, Var, const
from compiler.ir.expr.substitute import substitute
from compiler.ir.structural import structural_equal
from compiler.te import reduce_axis


def _sum(source: PrimExpr, axes: list[IterVar], condition: PrimExpr | None = None, init: int | None = None) -> Reduce:
    a, b = Var("a"), Var("b")
    combiner = CommReducer((a,), (b,), (a + b,), (const(0),))
    return Reduce(combiner, (source,), tuple(axes), condition, 0, () if init is None else (const(init),))


@pytest.mark.parametrize("method", ["rewrite_simplify", "canonical_simplify", "simplify"])
def test_the_axes_of_a_reduction_lie_in_their_domains(method: str) -> None:
    """A choice that the domains decide is dropped, and one that they do not is kept: the sum is 11 at most."""
    k, j = reduce_axis((0, 10), "k"), reduce_axis((-5, 3), "j")
    total = k.var + j.var
    for limit, chosen in [(12, total), (11, Select(total < 11, total, const(0)))]:
        result = getattr(Analyzer(), method)(_sum(Select(total < limit, total, const(0)), [k, j]))
        assert isinstance(result, Reduce)
        assert structural_equal(result.source[0], chosen)


def test_the_condition_of_a_reduction_holds_in_its_source() -> None:
    k = reduce_axis((0, 10), "k")
    result = Analyzer().simplify(_sum(Select(k.var < 5, k.var, const(0)), [k], k.var < 4))
    assert isinstance(result, Reduce)
    assert result.source[0] is k.var
    assert structural_equal(result.condition, k.var < 4)


def test_the_condition_of_a_reduction_does_not_hold_outside() -> None:
    k = reduce_axis((0, 10), "k")
    analyzer = Analyzer()
    analyzer.simplify(_sum(k.var, [k], k.var < 4))
    assert not analyzer.can_prove(k.var < 4)
    assert analyzer.can_prove(k.var < 10)


def test_what_is_known_about_an_axis_is_not_replaced_by_its_domain() -> None:
    k = reduce_axis((0, 10), "k")
    analyzer = Analyzer()
    analyzer.bind(k.var, k.dom)
    with analyzer.constraint(k.var < 3):
        result = analyzer.simplify(_sum(k.var // 3, [k]))
    assert isinstance(result, Reduce)
    assert structural_equal(result.source[0], const(0))
    assert not analyzer.can_prove(k.var < 3)


@pytest.mark.parametrize("init", [None, 7])
@pytest.mark.parametrize("value", [1, 5])
def test_a_reduction_over_no_axes_is_its_one_value(init: int | None, value: int) -> None:
    x, y, start = Var("x"), Var("y"), init or 0
    for condition, holds in [(None, True), (x < 3, value < 3), (const(False, "bool"), False)]:
        result = Analyzer().canonical_simplify(_sum(y, [], condition, init))
        assert not isinstance(result, Reduce)
        combined = Analyzer().simplify(substitute(result, {x: const(value), y: const(20)}))
        assert isinstance(combined, IntImm)
        assert combined.value == start + (20 if holds else 0)
