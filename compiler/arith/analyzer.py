"""``arith.Analyzer``: facts about variables, and the simplifiers and provers that use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any, Self

from compiler.arith.canonical_simplify import CanonicalSimplifier, is_plain
from compiler.arith.const_int_bound import ConstIntBound, inner_bound
from compiler.arith.deep_equal import deep_equal
from compiler.arith.extension import Extension
from compiler.arith.facts import Facts
from compiler.arith.modular_set import Congruence, ModularSet
from compiler.arith.rewrite_simplify import RewriteSimplifier
from compiler.arith.simplifier import RewriteSimplifyStats
from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.expr import primexpr as prim
from compiler.ir.expr.primexpr import ExprLike, IntImm, PrimExpr, Var, convert, is_const_int

if TYPE_CHECKING:
    from compiler.arith.int_set import IntervalSet


class ProofStrength(Enum):
    """How much effort a proof may take."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


_evaluate_set: Callable[[PrimExpr, object, Analyzer], IntervalSet]


def register_set_evaluator(evaluate: Callable[[PrimExpr, Any, Analyzer], IntervalSet]) -> None:
    """Say how :meth:`Analyzer.int_set` evaluates: interval arithmetic, which itself asks analyzers."""
    global _evaluate_set
    _evaluate_set = evaluate


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
        self._facts = Facts()
        self._rewrite = RewriteSimplifier(self._facts)
        self._canonical = CanonicalSimplifier(self._facts)

    @classmethod
    def knowing(cls, domains: Mapping[Var, prim.Range]) -> Self:
        """Return an analyzer that knows the ranges in which some variables lie."""
        analyzer = cls()
        for var, domain in domains.items():
            analyzer.bind(var, domain)
        return analyzer

    @property
    def enabled_extensions(self) -> Extension:
        """The rewrites that are tried beyond the usual ones."""
        return self._facts.extensions

    @enabled_extensions.setter
    def enabled_extensions(self, extensions: Extension) -> None:
        self._facts.extensions = Extension(extensions)
        self._facts.forget()

    def bind(self, var: Var, expr: prim.Range | ExprLike, override: bool = False) -> None:
        """Let ``var`` lie in a range, or stand for a value, in place of what is known about it only with ``override``.

        Raises ArgumentError if something else is known, which then still holds.
        """
        before = self._facts.about(var)
        self._bind(var, expr)
        if override or not any(fact is not None for fact in before):
            return
        after = self._facts.about(var)
        if not after.agrees_with(before):
            self._facts.replace(var, before)
            raise ArgumentError(
                f"bind: {var.name!r} is known to be {before}, got {show(expr)}; pass override=True to replace it"
            )
        self._facts.replace(var, after.joined(before))

    def _bind(self, var: Var, expr: prim.Range | ExprLike) -> None:
        """Let ``var`` lie in a range, or stand for a value, whatever was known about it before."""
        if not isinstance(expr, prim.Range):
            self._facts.bind_value(var, self.simplify(expr))
        elif isinstance(expr.extent, IntImm) and expr.extent.value == 1:
            self._facts.bind_value(var, self._rewrite(expr.min))
        else:
            self._facts.bind_range(var, expr.min, expr.extent)

    def note_let(self, var: Var, value: PrimExpr) -> None:
        """Note that ``var`` is bound to ``value`` and stays a variable; its arithmetic may overflow if it is loaded."""
        self._facts.note_loaded(var, value)

    def update(self, var: Var, info: ConstIntBound | ModularSet, override: bool = False) -> None:
        """Let ``var`` lie between two constants, both included, or be ``coeff * k + base``.

        Other bounds that are known are only replaced with ``override``.
        """
        if isinstance(info, ModularSet):
            values = Congruence(info.coeff, info.base)
            _require_unknown(var, self._facts.modular.variables.get(var, values), values, override)
            self._facts.bind_modular(var, values)
        else:
            bound = inner_bound(info)
            _require_unknown(var, self._facts.bounds.variables.get(var, bound), bound, override)
            self._facts.bind_bound(var, bound)

    @property
    def rewrite_simplify_stats(self) -> RewriteSimplifyStats:
        """How much :meth:`rewrite_simplify` has done since the analyzer was made, or the counters were reset."""
        return self._rewrite.stats

    def reset_rewrite_simplify_stats(self) -> None:
        """Count from zero again."""
        self._rewrite.stats = RewriteSimplifyStats()

    def mark_global_non_neg(self, value: ExprLike) -> None:
        """Let ``value`` be at least zero from now on."""
        self._facts.assume_forever(convert(value) >= 0)

    @contextmanager
    def constraint_scope(self, constraint: ExprLike) -> Iterator[None]:
        """Let a condition hold inside the block."""
        self._rewrite.stats.constraints_entered += 1
        with self._facts.assuming(self._rewrite(convert(constraint))):
            yield

    constraint = constraint_scope

    def const_int_bound(self, expr: ExprLike) -> ConstIntBound:
        """Return the smallest and the largest value of an expression of an integer type or ``bool``."""
        return self._facts.public_bounds(_integral("const_int_bound", expr))

    def modular_set(self, expr: ExprLike) -> ModularSet:
        """Return ``coeff`` and ``base`` such that every value of an integer or ``bool`` is ``coeff * k + base``."""
        return ModularSet(*self._facts.public_modular(_integral("modular_set", expr)))

    def exact_bound(self, expr: PrimExpr) -> ConstIntBound:
        """Return what :meth:`const_int_bound` does, where a conversion may wrap around."""
        return self._facts.bounds(expr)

    def exact_modular_set(self, expr: PrimExpr) -> ModularSet:
        """Return what :meth:`modular_set` does, where arithmetic of small types and conversions may wrap around."""
        return ModularSet(*self._facts.modular(expr))

    def int_set(self, expr: ExprLike, dom_map: object = None) -> IntervalSet:
        """Return a set that covers the values of an expression while variables run over their domains; others stay."""
        return _evaluate_set(convert(expr), dom_map or {}, self)

    def rewrite_simplify(self, expr: ExprLike) -> PrimExpr:
        """Simplify by rewrite rules.

        Raises ArgumentError if the whole is a division by zero, which has no value.  One inside stays, for it may never
        be evaluated.
        """
        return _defined(self._rewrite(convert(expr)))

    def canonical_simplify(self, expr: ExprLike) -> PrimExpr:
        """Simplify by bringing index arithmetic into normal form; a division by zero is as for the rewrite rules."""
        return _defined(self._canonical(convert(expr)))

    def simplify(self, expr: ExprLike, steps: int = 2) -> PrimExpr:
        """Simplify as far as the known facts allow, at most ``steps`` times in turn by rules and by normal form.

        The normal form comes first here: it is fast, and where it says all there is to say the rules are not asked.
        The very same object is returned where nothing changed.
        """
        if type(expr) is IntImm:
            return expr
        result = self._canonical(convert(expr))
        for _ in range(0, steps, 2):
            if is_plain(result) and not self._facts.has_congruences:
                break
            rewritten = self._rewrite(result)
            if rewritten is result:
                break
            result = self._canonical(rewritten)
        return result

    def can_prove(self, expr: ExprLike, strength: ProofStrength = ProofStrength.DEFAULT) -> bool:
        """Return whether ``expr`` is known to hold; bounds with symbols in them are used whatever the ``strength``."""
        e = convert(expr)
        if isinstance(e, prim.EQ) and deep_equal(e.a, e.b):
            return True
        result = self.simplify(e)
        return isinstance(result, IntImm) and result.value != 0

    def can_prove_equal(self, lhs: ExprLike, rhs: ExprLike) -> bool:
        """Return whether two expressions are known to be equal."""
        a, b = convert(lhs), convert(rhs)
        if isinstance(a, IntImm) and isinstance(b, IntImm):
            return a.value == b.value
        return a.dtype == b.dtype and (deep_equal(a, b) or is_const_int(self.simplify(prim.Sub(a, b)), 0))


def _require_unknown(var: Var, old: object, new: object, override: bool) -> None:
    if old != new and not override:
        raise ArgumentError(
            f"update: {var.name!r} is known to be in {old}, got {new}; pass override=True to replace it"
        )


def _defined(e: PrimExpr) -> PrimExpr:
    """Return ``e``, which is not a division by zero."""
    if isinstance(e, (prim.FloorDiv, prim.FloorMod, prim.Div, prim.Mod)):
        divisor = e.b.value if isinstance(e.b, prim.Broadcast) else e.b
        if isinstance(divisor, IntImm) and divisor.value == 0:
            raise ArgumentError(f"{type(e).__name__}: division by zero in {show(e)}")
    return e


def _integral(operation: str, expr: ExprLike) -> PrimExpr:
    e = convert(expr)
    if not e.dtype.startswith(("int", "uint", "bool")):
        raise DTypeError(f"{operation}: expected an integer expression, got {e.dtype} in {show(e)}")
    return e
