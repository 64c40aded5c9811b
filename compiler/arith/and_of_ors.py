"""Simplifies conditions in conjunctive normal form."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import combinations

from compiler.ir.expr.primexpr import And, IntImm, Or, PrimExpr, const
from compiler.ir.structural import structural_equal

MAX_CLAUSES = 32
"""How many disjunctions a condition is written as at most: their number doubles with each ``and`` below an ``or``."""

Clause = list[PrimExpr]


def and_of_ors(e: PrimExpr, simplify: Callable[[PrimExpr], PrimExpr]) -> PrimExpr:
    """Return a condition as a conjunction of disjunctions, unless there would be too many of them.

    Two literals of one disjunction are simplified together wherever they stand in it, and so are the literals by which
    two disjunctions differ; a disjunction that another one implies is left out. ::

        a or (b and c)                       →    (a or b) and (a or c)
        k == 20 and (i == 0 and k != 30)     →    i == 0 and k == 20
    """
    clauses = _clauses(e)
    if clauses is None:
        return e
    clauses = [_within(clause, simplify) for clause in clauses]
    clauses = _across([c for c in clauses if not isinstance(c[0], IntImm) or not c[0].value], simplify)
    return reduce(And, [reduce(Or, clause) for clause in clauses]) if clauses else const(True)


def _clauses(e: PrimExpr) -> list[Clause] | None:
    if not isinstance(e, (And, Or)):
        return [[e]]
    a, b = _clauses(e.a), _clauses(e.b)
    if a is None or b is None:
        return None
    clauses = a + b if isinstance(e, And) else [x + y for x in a for y in b]
    return clauses if len(clauses) <= MAX_CLAUSES else None


def _contains(clause: Clause, literal: PrimExpr) -> bool:
    return any(structural_equal(literal, other) for other in clause)


def _joined(
    kind: type[And] | type[Or], a: PrimExpr, b: PrimExpr, simplify: Callable[[PrimExpr], PrimExpr]
) -> PrimExpr | None:
    """Return what two conditions are together if that is simpler than both of them."""
    if structural_equal(a, b):
        return b
    both = kind(a, b)
    result = simplify(both)
    return None if isinstance(result, (And, Or)) or structural_equal(result, both) else result


def _within(clause: Clause, simplify: Callable[[PrimExpr], PrimExpr]) -> Clause:
    """Simplify the literals of a disjunction by each other; a result takes the place of the second one."""
    clause = list(clause)
    changed = True
    while changed:
        changed = False
        for i, j in combinations(range(len(clause)), 2):
            result = _joined(Or, clause[i], clause[j], simplify)
            if result is not None:
                clause[j] = result
                del clause[i]
                changed = True
                break
        if any(isinstance(literal, IntImm) and literal.value for literal in clause):
            return [const(True)]
    literals = [literal for literal in clause if not isinstance(literal, IntImm)]
    return literals or [const(False)]


def _across(clauses: list[Clause], simplify: Callable[[PrimExpr], PrimExpr]) -> list[Clause]:
    """Simplify disjunctions by each other; a result takes the place of the second one."""
    changed = True
    while changed:
        changed = False
        for i, j in combinations(range(len(clauses)), 2):
            merged = _merged(clauses[i], clauses[j], simplify)
            if merged is not None:
                index, clause = merged
                clauses[(i, j)[index]] = clause
                del clauses[(j, i)[index]]
                changed = True
                break
    return clauses


def _merged(first: Clause, second: Clause, simplify: Callable[[PrimExpr], PrimExpr]) -> tuple[int, Clause] | None:
    """Return the one disjunction that stands for two, and which of them it takes the place of."""
    only_first = [literal for literal in first if not _contains(second, literal)]
    only_second = [literal for literal in second if not _contains(first, literal)]
    if not only_first:
        return 0, first
    if not only_second:
        return 1, second
    if len(only_first) != 1 or len(only_second) != 1:
        return None
    result = _joined(And, only_first[0], only_second[0], simplify)
    if result is None:
        return None
    if isinstance(result, IntImm):
        rest = [literal for literal in second if literal is not only_second[0]]
        return (1, rest or [const(False)]) if not result.value else None
    return 1, [result if literal is only_second[0] else literal for literal in second]
