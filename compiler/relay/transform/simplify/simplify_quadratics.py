"""The SimplifyExpr rule that factors ``a * x * x + b * x * y + c * y * y``."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, sqrt

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, Constant, GraphExpr
from compiler.relay.operator import call_op
from compiler.relay.transform.rewriter import const_like, op_name, scalar_value, tensor_type
from compiler.relay.transform.simplify.simplify_rule import Rule, of_same_type


@dataclass(frozen=True, slots=True)
class _Term:
    """``coefficient * first * second``; ``plain`` where no coefficient is written.

    ``outer`` says that the coefficient stands beside the product, not beside one of its factors.
    """

    coefficient: float
    first: GraphExpr
    second: GraphExpr
    plain: bool
    outer: bool

    @property
    def is_square(self) -> bool:
        return self.first is self.second


def _operands(expr: GraphExpr, name: str) -> tuple[GraphExpr, GraphExpr] | None:
    return (expr.args[0], expr.args[1]) if isinstance(expr, Call) and op_name(expr) == name else None


def _scaled(expr: GraphExpr) -> tuple[float, GraphExpr] | None:
    factors = _operands(expr, "multiply")
    for constant, other in () if factors is None else (factors, factors[::-1]):
        if isinstance(constant, Constant) and (value := scalar_value(constant)) is not None:
            return value.item(), other
    return None


def _term(expr: GraphExpr) -> _Term | None:
    """Return a product of two expressions with its coefficient, wherever that stands."""
    if (scaled := _scaled(expr)) is not None:
        factors = _operands(scaled[1], "multiply")
        return None if factors is None else _Term(scaled[0], *factors, plain=False, outer=True)
    factors = _operands(expr, "multiply")
    if factors is None:
        return None
    for place in (0, 1):
        if (scaled := _scaled(factors[place])) is not None:
            first, second = (scaled[1], factors[1]) if place == 0 else (factors[0], scaled[1])
            return _Term(scaled[0], first, second, plain=False, outer=False)
    return _Term(1, *factors, plain=True, outer=True)


def _three_terms(call: Call) -> list[_Term] | None:
    """Return the terms of a sum of three in the order in which they lead."""
    a, b = call.args
    written: tuple[GraphExpr, ...]
    if (pair := _operands(a, "add")) is not None:
        written = (*pair, b)
    elif (pair := _operands(b, "add")) is not None:
        written = (a, *pair)
    else:
        return None
    terms = [t for t in map(_term, written) if t is not None]
    if len(terms) < 3:
        return None
    if written[0] is a and terms[0].is_square:  # x*x + (…): a square within the parentheses leads
        return sorted(terms[1:], key=lambda t: not t.is_square) + terms[:1]
    return terms


def _leader(terms: list[_Term], cross: _Term, squares: list[_Term]) -> GraphExpr:
    """Return the variable that stands without a factor in both sums, chosen as TVM chooses it."""
    plain = [t for t in squares if t.plain]
    if len(plain) == 1:
        return plain[0].first
    if terms[0].is_square:
        return terms[0].first
    return cross.first if cross.outer else cross.second


def _roots(a: float, b: float, c: float, is_float: bool) -> tuple[float, float] | None:
    """Return r and s with ``a * x * x + b * x * y + c * y * y = a * (x + r * y) * (x + s * y)``, the larger first."""
    discriminant = b * b - 4 * a * c
    if a == 0 or discriminant < 0:
        return None
    if is_float:
        root = sqrt(discriminant)
        larger, smaller = (b + root) / (2 * a), (b - root) / (2 * a)
        return max(larger, smaller), min(larger, smaller)
    exact = isqrt(int(discriminant))
    if exact * exact != discriminant or (b + exact) % (2 * a) or (b - exact) % (2 * a):
        return None
    pair = (int((b + exact) // (2 * a)), int((b - exact) // (2 * a)))
    return max(pair), min(pair)


def _factor(call: Call) -> RelayExpr | None:
    """Return the product; integers are factored where all of its constants are integers, which wraps around alike."""
    terms, t = _three_terms(call), tensor_type(call)
    if terms is None or t is None or t.dtype not in ("float32", "float64", "int32", "int64"):
        return None
    squares, crosses = [s for s in terms if s.is_square], [s for s in terms if not s.is_square]
    if len(crosses) != 1 or {squares[0].first, squares[1].first} != {crosses[0].first, crosses[0].second}:
        return None
    x = _leader(terms, crosses[0], squares)
    first, last = squares if squares[0].first is x else reversed(squares)
    roots = _roots(first.coefficient, crosses[0].coefficient, last.coefficient, t.dtype.startswith("float"))
    if roots is None:
        return None
    sums = {r: call_op("add", x, _times(last.first, r, t.dtype)) for r in roots}
    product = call_op("multiply", *(sums[r] for r in roots))
    scale = first.coefficient
    return of_same_type(call, product if scale == 1 else call_op("multiply", const_like(scale, t.dtype), product))


def _times(expr: GraphExpr, factor: float, dtype: str) -> GraphExpr:
    return expr if factor == 1 else call_op("multiply", expr, const_like(factor, dtype))


QUADRATIC_RULES: tuple[Rule, ...] = (Rule("add", "a*x*x + b*x*y + c*y*y = a * (x + r*y) * (x + s*y)", _factor),)
"""Products in place of quadratic forms with real roots."""
