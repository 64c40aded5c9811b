"""Branches and loops with conditions that are computed at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.ir.expr import RelayExpr
from compiler.relay.analysis import free_vars
from compiler.relay.expr import Call, Constant, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.frontend.shared.carried_types import stable_types
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import known, ops, settle, type_of
from compiler.relay.frontend.shared.tensors import as_scalar
from compiler.relay.function import Function
from compiler.relay.inference import infer_expr
from compiler.relay.ty import FuncType, TensorType, TupleType

MAX_ITERATIONS = 256
"""The maximum number of iterations of loops that are unrolled."""


def if_else(condition: RelayExpr, yes: Sequence[RelayExpr], no: Sequence[RelayExpr]) -> list[RelayExpr]:
    """Return the results of a conditional."""
    if len(yes) != len(no):
        raise ConversionError(f"its branches have {len(yes)} and {len(no)} results")
    for i, (a, b) in enumerate(zip(yes, no, strict=True)):
        if type_of(a) != type_of(b):
            raise ConversionError(f"result {i} is {type_of(a)} in one branch and {type_of(b)} in the other")
    both = settle(If(as_scalar(condition), Tuple(tuple(yes)), Tuple(tuple(no))))
    return [settle(TupleGetItem(both, i)) for i in range(len(yes))]


def fitting(branches: Sequence[Callable[[], Sequence[RelayExpr]]]) -> list[Sequence[RelayExpr]]:
    """Return the results of branches of which one is taken at run time.

    A branch that does not fit the given shapes raises its error where it is taken, not while the model is imported:
    models choose between branches by the extents of one input.
    """
    results = [_converted(branch) for branch in branches]
    misfits = [result for result in results if isinstance(result, ConversionError)]
    fits = [result for result in results if not isinstance(result, ConversionError)]
    if not fits:
        raise ConversionError(f"no branch fits the given shapes: {'; '.join(map(str, misfits))}") from misfits[0]
    return [_failing(result, fits[0]) if isinstance(result, ConversionError) else result for result in results]


def _converted(branch: Callable[[], Sequence[RelayExpr]]) -> Sequence[RelayExpr] | ConversionError:
    try:
        return branch()
    except ConversionError as exc:
        if isinstance(exc, NotImplementedError):
            raise
        return exc


def _failing(misfit: ConversionError, instead_of: Sequence[RelayExpr]) -> list[RelayExpr]:
    """Return as many values as another branch has, of the same types, whose computation raises the error."""
    message = f"{misfit}; this branch does not fit the shapes that the model was imported with"
    return [_failure(message, type_of(value)) for value in instead_of]


def _failure(message: str, t: TensorType) -> RelayExpr:
    extents = [d if isinstance(d, int) else 1 for d in t.dims]
    failure = ops.fail(message=message, shape=extents, dtype=t.dtype)
    # The declared return type of a function hides the inferred one, also from passes.
    return failure if t.is_static else settle(Call(Function((), failure, t), ()))


def unroll_loop(
    initial: Sequence[RelayExpr],
    condition: Callable[[Sequence[RelayExpr]], RelayExpr],
    body: Callable[[Sequence[RelayExpr]], Sequence[RelayExpr]],
) -> Sequence[RelayExpr] | None:
    """Unroll a loop with known conditions; return None if one is unknown or there are too many iterations."""
    state = initial
    for _ in range(MAX_ITERATIONS):
        goes_on = known(condition(state))
        if goes_on is None:
            return None
        if not goes_on.item():
            return state
        state = body(state)
    return None


def while_loop(
    initial: Sequence[RelayExpr],
    condition: Callable[[Sequence[RelayExpr]], RelayExpr],
    body: Callable[[Sequence[RelayExpr]], Sequence[RelayExpr]],
) -> list[RelayExpr]:
    """Build a loop as a recursive function, and return its final values."""

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
    function = Function(tuple(state), If(as_scalar(condition(state)), turned, Tuple(tuple(state))), result)
    after = settle(Let(again, function, Call(again, tuple(initial))))
    return [settle(TupleGetItem(after, i)) for i in range(len(types))]


class Outside:
    """Values from outside of a loop, under names within it: they are computed once, not by every iteration."""

    def __init__(self) -> None:
        self._names: dict[RelayExpr, Var] = {}

    def named(self, value: RelayExpr) -> RelayExpr:
        """Return what stands for a tensor in the loop's body; other values stand for themselves."""
        if isinstance(value, (Var, Constant)) or not isinstance(infer_expr(value), TensorType):
            return value
        return self._names.setdefault(value, settle(Var(f"outside{len(self._names)}", type_of(value))))

    def around(self, loop: RelayExpr) -> RelayExpr:
        """Return a loop in which the names that it uses are bound."""
        used = set(free_vars(loop))
        for value, var in self._names.items():
            loop = Let(var, value, loop) if var in used else loop
        return loop


def _variables(types: Sequence[TensorType]) -> list[Var]:
    return [settle(Var(f"state{i}", t)) for i, t in enumerate(types)]
