"""What the compiler of rewrite rules makes of a rule."""

from __future__ import annotations

import pytest

from compiler.arith.deep_equal import deep_equal
from compiler.arith.pattern import Rule, RuleSet, parse_pattern
from compiler.ir.expr.primexpr import LT, Add, BinaryOp, Div, FloorDiv, IntImm, Max, Min, Mul, PrimExpr, Sub, Var, const

x, y = Var("x"), Var("y")


class Asked:
    """Stands for the simplifier, and notes whether it was asked for overflows."""

    def __init__(self, answer: bool) -> None:
        self.answer, self.asked = answer, False

    def stays_in_range(self, old: PrimExpr, new: PrimExpr) -> bool:
        self.asked = True
        return self.answer


def applied(kind: type[BinaryOp], rule: Rule, e: BinaryOp, simplifier: Asked) -> PrimExpr | None:
    matcher = RuleSet(kind, [rule]).matcher(type(e.a), type(e.b))
    return None if matcher is None else matcher(e, simplifier)


@pytest.mark.parametrize(
    ("result", "value"),
    [("c1", 7), ("-c1", -7), ("(c1 + 1) * 2", 16), ("truncdiv(0 - c1, 2)", -3), ("truncmod(-c1, 4) - 1", -4)],
)
def test_arithmetic_on_constants_happens_while_a_rule_is_applied(result: str, value: int) -> None:
    made = applied(Add, ("x + c1", f"x * ({result})"), Add(x, const(7)), Asked(True))
    assert isinstance(made, Mul)
    assert deep_equal(made, Mul(x, const(value)))


@pytest.mark.parametrize(
    ("kind", "rule", "e", "asked"),
    [
        (Sub, ("x - x", "0"), Sub(x, x), False),
        (Min, ("min(x, x)", "x"), Min(x, x), False),
        (LT, ("x + y < x", "y < 0"), LT(Add(x, y), x), True),
        (FloorDiv, ("(x * c1) // c2", "x * (c1 // c2)"), FloorDiv(Mul(x, const(8)), const(4)), True),
        (Max, ("max(x + c1, x)", "x + c1"), Max(Add(x, const(1)), x), True),
        (Div, ("truncdiv(x, 1)", "x"), Div(x, const(1)), False),
    ],
)
def test_a_rule_that_moves_terms_is_applied_where_they_cannot_overflow(
    kind: type[BinaryOp], rule: Rule, e: BinaryOp, asked: bool
) -> None:
    """It is one about sums or products within comparisons, quotients, minima or maxima."""
    for answer in (False, True):
        simplifier = Asked(answer)
        assert (applied(kind, rule, e, simplifier) is not None) is (answer or not asked)
        assert simplifier.asked is asked


def test_operands_that_can_match() -> None:
    for text, accepted in (("0", [IntImm]), ("c1", [IntImm]), ("x", [IntImm, Add, Var]), ("x + y", [Add])):
        pattern = parse_pattern(text)
        assert [kind for kind in (IntImm, Add, Var) if pattern.accepts(kind)] == accepted
        assert pattern.is_constant is (accepted == [IntImm])
    assert RuleSet(Add, [("x + 0", "x")]).matcher(Var, Add) is None
    with pytest.raises(ValueError, match=r"rule: f\(x\) is not an operation"):
        parse_pattern("f(x)")
