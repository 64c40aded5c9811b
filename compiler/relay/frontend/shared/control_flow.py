"""Branches and loops that the running program decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.frontend.shared.carried_types import stable_types
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import known, rank_of, settle, type_of
from compiler.relay.frontend.shared.tensors import reshape
from compiler.relay.function import Function
from compiler.relay.ty import FuncType, TensorType, TupleType

__all__ = ["chosen", "repeated", "unrolled"]

MAX_TURNS = 256
"""Loops of at most as many turns are unrolled."""


def chosen(condition: RelayExpr, yes: Sequence[RelayExpr], no: Sequence[RelayExpr]) -> list[RelayExpr]:
    """Return the results of one of two branches.

    Parameters
    ----------
    condition : Expr
        A single truth value.
    yes, no : sequence of Expr
        As many results of the same types.

    Raises
    ------
    ConversionError
        If their numbers or types differ.
    """
    if len(yes) != len(no):
        raise ConversionError(f"its branches have {len(yes)} and {len(no)} results")
    for i, (a, b) in enumerate(zip(yes, no, strict=True)):
        if type_of(a) != type_of(b):
            raise ConversionError(f"result {i} is {type_of(a)} in one branch and {type_of(b)} in the other")
    both = settle(If(_scalar(condition), Tuple(tuple(yes)), Tuple(tuple(no))))
    return [settle(TupleGetItem(both, i)) for i in range(len(yes))]


def unrolled(
    initial: Sequence[RelayExpr],
    condition: Callable[[Sequence[RelayExpr]], RelayExpr],
    body: Callable[[Sequence[RelayExpr]], Sequence[RelayExpr]],
) -> Sequence[RelayExpr] | None:
    """Return the values after a loop whose turns are known while importing, one after the other; None if they are not.

    Parameters
    ----------
    initial : sequence of Expr
        The values that the first turn begins with.
    condition, body : callable
        As in :func:`repeated`.
    """
    state = initial
    for _ in range(MAX_TURNS):
        goes_on = known(condition(state))
        if goes_on is None:
            return None
        if not goes_on.item():
            return state
        state = body(state)
    return None


def repeated(
    initial: Sequence[RelayExpr],
    condition: Callable[[Sequence[RelayExpr]], RelayExpr],
    body: Callable[[Sequence[RelayExpr]], Sequence[RelayExpr]],
) -> list[RelayExpr]:
    """Return the values after a loop: a function that calls itself once for each turn.

    Parameters
    ----------
    initial : sequence of Expr
        The values that the first turn begins with.
    condition : callable
        From the values before a turn to whether there is one.
    body : callable
        From the values before a turn to those after it.

    Raises
    ------
    ConversionError
        If a value changes its data type or number of dimensions.
    """

    def types_after(before: list[TensorType]) -> list[TensorType]:
        results = body(_variables(before))
        if len(results) != len(before):
            raise ConversionError(f"its body has {len(results)} results for {len(before)} carried values")
        return [type_of(result) for result in results]

    types = stable_types([type_of(x) for x in initial], types_after)
    state = _variables(types)
    result = TupleType(tuple(types))
    again = Var("loop", FuncType(tuple(types), result))
    turned = Call(again, tuple(body(state)))
    function = Function(tuple(state), If(_scalar(condition(state)), turned, Tuple(tuple(state))), result)
    after = settle(Let(again, function, Call(again, tuple(initial))))
    return [settle(TupleGetItem(after, i)) for i in range(len(types))]


def _scalar(x: RelayExpr) -> RelayExpr:
    scalar: RelayExpr = reshape(x, []) if rank_of(x) else x
    return scalar


def _variables(types: Sequence[TensorType]) -> list[Var]:
    return [settle(Var(f"state{i}", t)) for i, t in enumerate(types)]
