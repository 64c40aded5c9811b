"""The face of the simplifier: one object that knows things about variables and answers questions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from compiler.arith.canonical_simplify import CanonicalSimplifier, is_plain
from compiler.arith.const_int_bound import ConstIntBound
from compiler.arith.deep_equal import deep_equal
from compiler.arith.knowledge import Knowledge
from compiler.arith.modular_set import ModularSet
from compiler.arith.rewrite_simplify import RewriteSimplifier
from compiler.ir.error import DTypeError, show
from compiler.ir.primexpr import ExprLike, IntImm, PrimExpr, Range, Sub, Var, convert


class Analyzer:
    """Simplifies and proves, given the ranges of variables and the conditions that hold.

    Examples
    --------
    >>> analyzer = Analyzer()
    >>> analyzer.bind(i, Range(0, 32))
    >>> analyzer.simplify((o * 32 + i) // 32)
    o
    """

    def __init__(self) -> None:
        self._known = Knowledge()
        self._rewrite = RewriteSimplifier(self._known)
        self._canonical = CanonicalSimplifier(self._known)

    def bind(self, var: Var, expr: Range | ExprLike, override: bool = True) -> None:
        """Let ``var`` lie in a range, or stand for a value."""
        if isinstance(expr, Range):
            if isinstance(expr.extent, IntImm) and expr.extent.value == 1:
                self._known.bind_value(var, self._rewrite(expr.min))
            else:
                self._known.bind_range(var, expr.min, expr.extent)
        else:
            self._known.bind_value(var, self.simplify(expr))

    def update(self, var: Var, info: ConstIntBound | ModularSet, override: bool = True) -> None:
        """Let ``var`` lie between two constants, both included, or be ``coeff * k + base``."""
        if isinstance(info, ModularSet):
            self._known.bind_modular(var, info)
        else:
            self._known.bind_bound(var, (info.min_value, info.max_value))

    def mark_global_non_neg(self, value: ExprLike) -> None:
        """Let ``value`` be at least zero from now on."""
        self._known.assume_forever(convert(value) >= 0)

    @contextmanager
    def constraint(self, condition: PrimExpr) -> Iterator[None]:
        """Let ``condition`` hold inside the block."""
        with self._known.assuming(self._rewrite(condition)):
            yield

    constraint_scope = constraint

    def const_int_bound(self, expr: ExprLike) -> ConstIntBound:
        """Return the smallest and the largest value of an integer expression."""
        return self._known.bounds(_integral("const_int_bound", expr))

    def modular_set(self, expr: ExprLike) -> ModularSet:
        """Return ``coeff`` and ``base`` such that every value is ``coeff * k + base``."""
        return self._known.modular(_integral("modular_set", expr))

    def rewrite_simplify(self, expr: ExprLike) -> PrimExpr:
        """Simplify by rewrite rules."""
        return self._rewrite(convert(expr))

    def canonical_simplify(self, expr: ExprLike) -> PrimExpr:
        """Simplify by bringing index arithmetic into normal form."""
        return self._canonical(convert(expr))

    def simplify(self, expr: ExprLike, steps: int = 2) -> PrimExpr:
        """Simplify as far as the known facts allow, ``steps`` times in turn by rules and by normal form.

        The normal form comes first here: it is fast, and where it says all there is to say the rules are not asked.
        """
        result = self._canonical(convert(expr))
        for _ in range(0, steps, 2):
            if is_plain(result):
                break
            rewritten = self._rewrite(result)
            if rewritten is result:
                break
            result = self._canonical(rewritten)
        return result

    def can_prove(self, condition: ExprLike) -> bool:
        """Return whether ``condition`` is known to hold."""
        result = self.simplify(condition)
        return isinstance(result, IntImm) and result.value != 0

    def can_prove_equal(self, lhs: ExprLike, rhs: ExprLike) -> bool:
        """Return whether two expressions are known to be equal."""
        a, b = convert(lhs), convert(rhs)
        if isinstance(a, IntImm) and isinstance(b, IntImm):
            return a.value == b.value
        return a.dtype == b.dtype and (deep_equal(a, b) or self._is_zero(self.simplify(Sub(a, b))))

    @staticmethod
    def _is_zero(e: PrimExpr) -> bool:
        return isinstance(e, IntImm) and e.value == 0


def _integral(operation: str, expr: ExprLike) -> PrimExpr:
    e = convert(expr)
    if not e.dtype.startswith(("int", "uint", "bool")):
        raise DTypeError(f"{operation}: expected an integer expression, got {e.dtype} in {show(e)}")
    return e
