"""Control flow: conditions that are known select a branch, loops with a known trip count are unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.partial import partial_of, remember
from compiler.relay.frontend.onnx.registry import converter
from compiler.relay.frontend.shared.carried_types import stable_types
from compiler.relay.frontend.shared.control_flow import Outside, fitting, while_loop
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, dims_of, known, ops, rank_of, settle, type_of
from compiler.relay.frontend.shared.open_dims import asked_for
from compiler.relay.frontend.shared.tensors import as_scalar, extent_of, static_dims, transpose, unsqueeze
from compiler.relay.function import Function
from compiler.relay.ty import AnyDim, Dim, FuncType, TensorType, TupleType, joined_dim


def loop_at_run_time(node: Node) -> list[RelayExpr]:
    """Convert a loop to a recursive function, and return its outputs."""
    trips, condition, *initial = node.inputs
    body = node.required("body")
    types = stable_types([type_of(x) for x in initial], lambda before: _types_after(node, before))
    turn = Var("turn", TensorType((), "int64"))
    going = Var("going", TensorType((), "bool"))
    state = [Var(f"state{i}", t) for i, t in enumerate(types)]
    _typed([turn, going, *state])
    outside = Outside()
    next_going, *outputs = node.run(
        body, [turn, going, *state], lambda value: remember(outside.named(value), partial_of(value))
    )
    added = outputs[len(state) :]
    row_types = [TensorType((AnyDim(), *_dims_of_any(item)), type_of(item).dtype) for item in added]
    rows = [Var(f"rows{i}", t) for i, t in enumerate(row_types)]
    _typed(rows)
    arguments = (TensorType((), "int64"), TensorType((), "bool"), *types, *row_types)
    again = Var("loop", FuncType(arguments, TupleType((*types, *row_types))))
    more = [_appended(row, item, turn) for row, item in zip(rows, added, strict=True)]
    one_more = ops.add(turn, constant(1, "int64"))
    turned = Call(again, (one_more, as_scalar(next_going), *outputs[: len(state)], *more))
    goes_on = going if trips is None else ops.logical_and(going, ops.less(turn, as_scalar(trips)))
    body_of_loop = If(goes_on, turned, Tuple((*state, *rows)))
    function = Function((turn, going, *state, *rows), body_of_loop, TupleType((*types, *row_types)))
    start = [constant(0, "int64"), constant(True) if condition is None else as_scalar(condition)]
    none = [_no_rows(type_of(item)) for item in added]
    whole = settle(outside.around(Let(again, function, Call(again, (*start, *initial, *none)))))
    return [settle(TupleGetItem(whole, i)) for i in range(len(types) + len(rows))]


def _typed(variables: Sequence[Var]) -> None:
    for v in variables:
        settle(v)


def _dims_of_any(item: RelayExpr) -> tuple[Dim, ...]:
    return tuple(d if isinstance(d, int) else AnyDim() for d in type_of(item).dims)


def _no_rows(item: TensorType) -> RelayExpr:
    """Return what a loop appends to; without a first item, extents that only items tell are 0."""
    return constant(np.zeros((0, *[d if isinstance(d, int) else 0 for d in item.dims])), item.dtype)


def _appended(rows: RelayExpr, item: RelayExpr, turn: RelayExpr) -> RelayExpr:
    row = unsqueeze(item, [0])
    more = ops.concatenate([rows, row], axis=0)
    return more if type_of(item).is_static else _chosen(ops.equal(turn, 0), [row], [more])[0]


def _types_after(node: Node, types: list[TensorType]) -> list[TensorType]:
    """Return the types of the loop-carried values after an iteration."""
    state = [Var(f"state{i}", t) for i, t in enumerate(types)]
    turn, going = Var("turn", TensorType((), "int64")), Var("going", TensorType((), "bool"))
    _typed([turn, going, *state])
    outputs = node.run(node.required("body"), [turn, going, *state])
    if len(outputs) < 1 + len(types):
        raise ConversionError(f"its body has {len(outputs)} outputs for {len(types)} carried values")
    return [type_of(output) for output in outputs[1 : len(types) + 1]]


MAX_ITERATIONS = 4096
"""The maximum trip count of unrolled loops."""


@converter("If")
def _if(node: Node) -> list[RelayExpr]:
    condition = node.inputs[0]
    branches = node.required("then_branch"), node.required("else_branch")
    value = known(condition)
    if value is not None:
        if value.size != 1:
            raise ConversionError(f"the condition must be one value, got {value.size}")
        return node.run(branches[0 if bool(value.reshape(-1)[0]) else 1], [])
    yes, no = map(list, fitting([partial(node.run, branch, []) for branch in branches]))
    if len(yes) != len(no):
        raise ConversionError(f"its branches have {len(yes)} and {len(no)} outputs")
    return _chosen(condition, yes, no)


def _chosen(condition: RelayExpr, yes: list[RelayExpr], no: list[RelayExpr]) -> list[RelayExpr]:
    condition = as_scalar(condition)
    how = asked_for(condition, [AnyDim()])
    types = [_joined(i, type_of(a), type_of(b), how) for i, (a, b) in enumerate(zip(yes, no, strict=True))]
    whole = settle(If(condition, _of_types(yes, types), _of_types(no, types)))
    return [settle(TupleGetItem(whole, i)) for i in range(len(yes))]


def _joined(index: int, yes: TensorType, no: TensorType, how: str) -> TensorType:
    """Return the common type of an output of both branches: extents that differ are unknown.

    ``how`` says what would let the condition be known.
    """
    if yes.dtype != no.dtype or len(yes.dims) != len(no.dims):
        raise ConversionError(
            f"output {index} is {yes} in one branch and {no} in the other, and the condition is known only at run"
            f" time: data type and number of dimensions must agree{f'; {how}' if ':' in how else ''}"
        )
    dims = [joined_dim(a, b) for a, b in zip(yes.dims, no.dims, strict=True)]
    return TensorType(tuple(dims), yes.dtype)


def _of_types(results: list[RelayExpr], types: list[TensorType]) -> RelayExpr:
    """Return the results of a branch as a tuple whose inferred type is ``types``."""
    branch = Tuple(tuple(results))
    pairs = (
        (own, d) for r, t in zip(results, types, strict=True) for own, d in zip(type_of(r).dims, t.dims, strict=True)
    )
    if all(own is d or not isinstance(d, AnyDim) for own, d in pairs):
        return branch
    # The declared return type of a function hides the inferred one, also from passes.
    return Call(Function((), branch, TupleType(tuple(types))), ())


@converter("Loop")
def _loop(node: Node) -> list[RelayExpr]:
    trips = node.inputs[0]
    if trips is not None and known(trips) is None:
        return loop_at_run_time(node)
    unrolled = _unrolled(node)
    return loop_at_run_time(node) if unrolled is None else unrolled


def _unrolled(node: Node) -> list[RelayExpr] | None:
    """Unroll a loop; None if the trip count is only known at run time."""
    trips, condition, *carried = node.inputs
    body = node.required("body")
    most = None if trips is None else known(trips)
    limit = MAX_ITERATIONS + 1 if most is None else int(most.reshape(-1)[0])
    results = len(body.output) - 1 - len(carried)
    if results < 0:
        raise ConversionError(f"its body has {len(body.output)} outputs for {len(carried)} carried values")
    collected: list[list[RelayExpr]] = [[] for _ in range(results)]
    turn = 0
    while turn < limit and (goes_on := _goes_on(condition)) is not False:
        if goes_on is None:
            return None
        if turn >= MAX_ITERATIONS:
            raise ConversionError(f"loops of more than {MAX_ITERATIONS} iterations are not unrolled")
        going = constant(True) if condition is None else condition
        condition, *outputs = node.run(body, [constant(turn, "int64"), going, *carried])
        carried = outputs[: len(carried)]
        for so_far, item in zip(collected, outputs[len(carried) :], strict=True):
            so_far.append(item)
        turn += 1
    if turn == 0 and results:
        raise ConversionError("a loop without iterations, whose scan outputs are empty, is not supported")
    return [*carried, *(_stacked(items) for items in collected)]


def _goes_on(condition: RelayExpr) -> bool | None:
    """Return the condition of a loop; None if it is only known at run time."""
    if condition is None:
        return True
    value = known(condition)
    return None if value is None else bool(value.reshape(-1)[0])


def _stacked(items: list[RelayExpr], axis: int = 0) -> RelayExpr:
    return ops.stack(items, axis=axis) if len(items) > 1 else unsqueeze(items[0], [axis])


@converter("Scan", since=9)
def _scan(node: Node) -> list[RelayExpr]:
    body, count = node.required("body"), node.required("num_scan_inputs")
    states, scanned = list(node.inputs[: len(node.inputs) - count]), list(node.inputs[len(node.inputs) - count :])
    axes = [a % rank_of(x) for a, x in zip(node.attr("scan_input_axes", [0] * count), scanned, strict=True)]
    if not all(isinstance(dims_of(x)[axis], int) for x, axis in zip(scanned, axes, strict=True)):
        return _scan_at_run_time(node, states, scanned, axes)
    turns = {static_dims(x, "a scanned input", [axis])[0] for x, axis in zip(scanned, axes, strict=True)}
    if len(turns) != 1:
        raise ConversionError(f"scan inputs must have the same length, got {sorted(turns)}")
    length = turns.pop()
    if length > MAX_ITERATIONS:
        raise ConversionError(f"loops of more than {MAX_ITERATIONS} iterations are not unrolled")
    back = node.attr("scan_input_directions", [0] * count)
    results = len(body.output) - len(states)
    collected: list[list[RelayExpr]] = [[] for _ in range(results)]
    for turn in range(length):
        now = [
            ops.take(x, constant(length - 1 - turn if b else turn, "int64"), axis=axis)
            for x, axis, b in zip(scanned, axes, back, strict=True)
        ]
        outputs = node.run(body, [*states, *now])
        for so_far, item in zip(collected, outputs[len(states) :], strict=True):
            so_far.append(item)
        states = outputs[: len(states)]
    return [*states, *_scanned_outputs(node, collected)]


def _scan_at_run_time(
    node: Node, states: list[RelayExpr], scanned: list[RelayExpr], axes: list[int]
) -> list[RelayExpr]:
    """Convert a scan to a loop of the running program, which knows how many turns there are."""
    body, back = node.required("body"), node.attr("scan_input_directions", [0] * len(scanned))
    length = extent_of(scanned[0], axes[0])
    rows = len(body.output) - len(states)

    def after(at: RelayExpr, before: Sequence[RelayExpr]) -> list[RelayExpr]:
        places = [ops.subtract(ops.subtract(length, 1), at) if b else at for b in back]
        now = [ops.take(x, place, axis=axis) for x, place, axis in zip(scanned, places, axes, strict=True)]
        return node.run(body, [*before, *now])

    def turn(carried: Sequence[RelayExpr]) -> list[RelayExpr]:
        at, *before = carried
        outputs = after(at, before[: len(states)])
        added = zip(before[len(states) :], outputs[len(states) :], strict=True)
        more = [_appended(so_far, item, at) for so_far, item in added]
        return [ops.add(at, 1), *outputs[: len(states)], *more]

    sample = [type_of(item) for item in after(constant(0, "int64"), states)[len(states) :]]
    none = [_no_rows(item) for item in sample]
    first = [constant(0, "int64"), *states, *none]
    _, *results = while_loop(first, lambda carried: ops.less(carried[0], length), turn)
    outputs = results[len(results) - rows :] if rows else []
    reversed_outputs = node.attr("scan_output_directions", [0] * rows)
    outputs = [ops.reverse(x, axis=0) if b else x for x, b in zip(outputs, reversed_outputs, strict=True)]
    places = [a % rank_of(x) for a, x in zip(node.attr("scan_output_axes", [0] * rows), outputs, strict=True)]
    moved = [
        transpose(x, [*range(1, at + 1), 0, *range(at + 1, rank_of(x))]) for x, at in zip(outputs, places, strict=True)
    ]
    return [*results[: len(states)], *moved]


def _scanned_outputs(node: Node, collected: list[list[RelayExpr]]) -> list[RelayExpr]:
    axes = node.attr("scan_output_axes", [0] * len(collected))
    back = node.attr("scan_output_directions", [0] * len(collected))
    stacked = []
    for items, axis, backwards in zip(collected, axes, back, strict=True):
        rank = rank_of(items[0]) + 1
        stacked.append(_stacked(items[::-1] if backwards else items, axis % rank))
    return stacked


@converter("Scan", since=8)
def _scan_of_batches(node: Node) -> list[RelayExpr]:
    """Convert ``Scan`` of operator set 8, whose first axis is a batch and whose second is scanned."""
    if node.input(0) is not None:
        raise ConversionError("sequence_lens is not supported")
    rest = [x for x in node.inputs if x is not None]
    batch = static_dims(rest[0], "the first input")[0]
    runs = []
    for i in range(batch):
        items = [ops.take(x, constant(i, "int64"), axis=0) for x in rest]
        attrs = {k: v for k, v in node.attributes.items() if k in ("body", "num_scan_inputs")}
        attrs["scan_input_directions"] = node.attr("directions", [0] * node.required("num_scan_inputs"))
        runs.append(_scan(Node(node.operator, items, attrs, node.outputs, node.opset, node.run)))
    return [_stacked(list(outputs)) for outputs in zip(*runs, strict=True)]
