"""Control flow of scripts: evaluated during import where possible, otherwise converted to Relay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.frontend.pytorch.dtypes import cast, tensor
from compiler.relay.frontend.pytorch.tensors import number
from compiler.relay.frontend.pytorch.values import TorchKey, TorchValue, as_items, as_number
from compiler.relay.frontend.shared.carried_types import stable_types
from compiler.relay.frontend.shared.control_flow import Outside
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dtype_of, known, ops, settle, type_of
from compiler.relay.frontend.shared.tensors import as_scalar
from compiler.relay.function import Function
from compiler.relay.ty import FuncType, TensorType, TupleType

if TYPE_CHECKING:
    import torch

    from compiler.relay.frontend.pytorch.script import Importer

MAX_ITERATIONS = 256
"""The maximum trip count of loops that are unrolled, if it is known."""


def branch(importer: Importer, node: torch.Node, condition: TorchValue) -> Sequence[TorchValue]:
    """Convert an ``if`` and return its values."""
    then, otherwise = node.blocks()
    if not isinstance(condition, RelayExpr) or known(condition) is not None:
        holds = number(condition, "the condition") if isinstance(condition, RelayExpr) else condition
        return importer.block(then if holds else otherwise)
    for block, other in ((then, otherwise), (otherwise, then)):
        if any(inner.kind() == "prim::RaiseException" for inner in block.nodes()):
            return importer.block(other)
    with _undecided(importer):
        results = [importer.block(block) for block in (then, otherwise)]
    pairs = [_unified(a, b) for a, b in zip(*results, strict=True)]
    condition = cast(as_scalar(condition), "bool")
    if not pairs:
        return []
    if len(pairs) == 1:
        return [settle(If(condition, *pairs[0]))]
    chosen = settle(If(condition, settle(Tuple(tuple(a for a, _ in pairs))), settle(Tuple(tuple(b for _, b in pairs)))))
    return [settle(TupleGetItem(chosen, i)) for i in range(len(pairs))]


@contextmanager
def _undecided(importer: Importer) -> Iterator[None]:
    """Convert the blocks of a dynamic branch, which must not mutate values from outside."""
    held = [(value, _contents(value)) for value in importer.values.values() if isinstance(value, (list, dict))]
    importer.views.branch_depth += 1
    try:
        yield
    finally:
        importer.views.branch_depth -= 1
    if any(_contents(now) != before for now, before in held):
        raise ConversionError(
            "a list or dict changes inside a branch or loop whose condition is known only at run time"
        )


def _contents(value: TorchValue) -> list[tuple[TorchKey, int]]:
    """Return the identities of the elements of a list or dict, to detect mutation."""
    pairs: Iterable[tuple[TorchKey, TorchValue]]
    pairs = value.items() if isinstance(value, dict) else enumerate(as_items(value))
    return [(key, id(item)) for key, item in pairs]


def _unified(a: TorchValue, b: TorchValue) -> tuple[RelayExpr, RelayExpr]:
    """Promote the values of two branches to a common data type."""
    if not all(isinstance(v, (RelayExpr, bool, int, float)) for v in (a, b)):
        raise ConversionError("both branches of an if must return tensors or numbers")
    left, right = tensor(a), tensor(b)
    if dtype_of(left) != dtype_of(right):
        raise ConversionError(f"the branches of an if return {dtype_of(left)} and {dtype_of(right)}")
    return left, right


def loop(importer: Importer, node: torch.Node, inputs: Sequence[TorchValue]) -> Sequence[TorchValue]:
    """Convert a loop and return the final loop-carried values."""
    (body,) = node.blocks()
    trips, going, *carried = inputs
    trips, going = (number(v, "") if isinstance(v, RelayExpr) and known(v) is not None else v for v in (trips, going))
    if isinstance(trips, RelayExpr) or isinstance(going, RelayExpr) or _is_decided_inside(body):
        return _at_run_time(importer, body, trips, going, carried)
    return _unrolled(importer, body, as_number(trips), going, carried)


def _is_decided_inside(body: torch.Block) -> bool:
    """Return whether the condition of the loop is computed in its body."""
    following = next(iter(body.outputs()))
    return str(following.node().kind()) != "prim::Constant"


def _unrolled(
    importer: Importer, body: torch.Block, trips: float, going: TorchValue, carried: list[TorchValue]
) -> Sequence[TorchValue]:
    turn = 0
    while turn < trips and going:
        if turn == MAX_ITERATIONS:
            raise ConversionError(f"loops of more than {MAX_ITERATIONS} iterations are not unrolled, got {trips}")
        importer.bind(list(body.inputs()), [turn, *carried])
        going, *carried = importer.block(body)
        turn += 1
    return carried


def _at_run_time(
    importer: Importer, body: torch.Block, trips: TorchValue, going: TorchValue, carried: list[TorchValue]
) -> Sequence[TorchValue]:
    """Convert a loop to a recursive function and return its results."""
    initial = [tensor(v) for v in carried]
    with _named_outside(importer, body) as outside:
        types = stable_types([type_of(v) for v in initial], lambda before: _types_after(importer, body, before))
        turn, condition, state = _variables(types)
        with _undecided(importer):
            importer.bind(list(body.inputs()), [turn, *state])
            following, *results = importer.block(body)
    arguments = (TensorType((), "int64"), TensorType((), "bool"), *types)
    again = Var("loop", FuncType(arguments, TupleType(tuple(types))))
    turned = Call(again, (ops.add(turn, constant(1, "int64")), _condition(following), *map(tensor, results)))
    goes_on = ops.logical_and(condition, ops.less(turn, as_scalar(tensor(trips, "int64"))))
    function = Function((turn, condition, *state), If(goes_on, turned, Tuple(tuple(state))), TupleType(tuple(types)))
    start = (constant(0, "int64"), _condition(going))
    whole: RelayExpr = Let(again, function, Call(again, (*start, *initial)))
    whole = settle(outside.around(whole))
    return [settle(TupleGetItem(whole, i)) for i in range(len(types))]


@contextmanager
def _named_outside(importer: Importer, body: torch.Block) -> Iterator[Outside]:
    """Give values from outside of a loop names within it."""
    read = {value.debugName() for value in _values_read(body)}
    held = {name: value for name, value in importer.values.items() if name in read}
    outside = Outside()

    def named(value: TorchValue) -> TorchValue:
        if isinstance(value, (list, tuple)):
            return type(value)([named(item) for item in value])
        return outside.named(value) if isinstance(value, RelayExpr) else value

    importer.values.update({name: named(value) for name, value in held.items()})
    try:
        yield outside
    finally:
        importer.values.update(held)


def _values_read(block: torch.Block) -> Iterator[torch.Value]:
    for node in block.nodes():
        yield from node.inputs()
        for inner in node.blocks():
            yield from _values_read(inner)
    yield from block.outputs()


def _condition(value: TorchValue) -> RelayExpr:
    return cast(as_scalar(tensor(value)), "bool")


def _variables(types: Sequence[TensorType]) -> tuple[Var, Var, list[Var]]:
    turn, condition = Var("turn", TensorType((), "int64")), Var("going", TensorType((), "bool"))
    state = [Var(f"state{i}", t) for i, t in enumerate(types)]
    for variable in (turn, condition, *state):
        settle(variable)
    return turn, condition, state


def _types_after(importer: Importer, body: torch.Block, types: list[TensorType]) -> list[TensorType]:
    """Return the types of the loop-carried values after an iteration."""
    turn, _, state = _variables(types)
    with _undecided(importer):
        importer.bind(list(body.inputs()), [turn, *state])
        _, *results = importer.block(body)
    return [type_of(tensor(result)) for result in results]
