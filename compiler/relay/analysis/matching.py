"""Exhaustiveness of matches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from compiler.ir.module import IRModule
from compiler.relay.adt import (
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
)

_ANYTHING = PatternWildcard()


def unmatched_cases(match: Match, mod: IRModule | None = None) -> list[Pattern]:
    """Return patterns for the values that no clause of a match covers; none if the match is exhaustive.

    The candidates begin with the wildcard and are split, wherever a clause looks closer, into the constructors of the
    type, which ``mod`` defines, until each candidate is either covered by a clause or excluded by all of them.  They
    are in the order from the last constructors to the first, the first parts changing fastest.

    L. Maranget, "Warnings for pattern matching", Journal of Functional Programming 17(3), 2007, answers the same
    question by a matrix of clauses.
    """
    mod = mod or IRModule()
    clauses = [clause.lhs for clause in match.clauses]
    candidates: list[Pattern] = [_ANYTHING]
    unmatched: list[Pattern] = []
    while candidates:
        candidate = candidates.pop()
        for pattern in clauses:
            verdict = _compare(pattern, candidate)
            if verdict is None:
                candidates.extend(_split(candidate, pattern, mod))
                break
            if verdict:
                break
        else:
            unmatched.append(candidate)
    return unmatched


def _compare(pattern: Pattern, candidate: Pattern) -> bool | None:
    """Return whether a pattern covers a candidate: True, False, or None if the candidate says too little."""
    if isinstance(pattern, (PatternWildcard, PatternVar)):
        return True
    if isinstance(candidate, PatternWildcard):
        return None
    ours, theirs = _parts(pattern), _parts(candidate)
    if (
        isinstance(pattern, PatternConstructor)
        and isinstance(candidate, PatternConstructor)
        and pattern.constructor is not candidate.constructor
    ):
        return False
    verdicts = [_compare(p, c) for p, c in zip(ours, theirs, strict=True)]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _split(candidate: Pattern, pattern: Pattern, mod: IRModule) -> Iterator[Pattern]:
    """Return candidates that say what ``candidate`` says, and more where ``pattern`` looks closer."""
    if isinstance(candidate, PatternWildcard):
        if isinstance(pattern, PatternTuple):
            yield PatternTuple((_ANYTHING,) * len(pattern.patterns))
        elif isinstance(pattern, PatternConstructor):
            for con in _constructors(pattern.constructor, mod):
                yield PatternConstructor(con, (_ANYTHING,) * len(con.inputs))
        return
    options = [
        [theirs] if _compare(ours, theirs) is not None else list(_split(theirs, ours, mod))
        for ours, theirs in zip(_parts(pattern), _parts(candidate), strict=True)
    ]
    for reverse in itertools.product(*reversed(options)):
        parts = reverse[::-1]
        if isinstance(candidate, PatternConstructor):
            yield PatternConstructor(candidate.constructor, parts)
        else:
            yield PatternTuple(parts)


def _parts(pattern: Pattern) -> tuple[Pattern, ...]:
    return pattern.patterns if isinstance(pattern, (PatternConstructor, PatternTuple)) else ()


def _constructors(con: Constructor, mod: IRModule) -> Sequence[Constructor]:
    data = mod.type_definitions.get(con.belong_to)
    return data.constructors if isinstance(data, TypeData) else (con,)
