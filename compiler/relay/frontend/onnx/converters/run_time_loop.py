"""Loops with a dynamic trip count, as recursive functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.shared.carried_types import stable_types
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, ops, rank_of, settle, type_of
from compiler.relay.frontend.shared.tensors import reshape, unsqueeze
from compiler.relay.function import Function
from compiler.relay.ty import AnyDim, FuncType, TensorType, TupleType


def loop_at_run_time(node: Node) -> list[RelayExpr]:
    """Convert a loop to a recursive function, and return its outputs."""
    trips, condition, *initial = node.inputs
    body = node.required("body")
    types = stable_types([type_of(x) for x in initial], lambda before: _types_after(node, before))
    turn = Var("turn", TensorType((), "int64"))
    going = Var("going", TensorType((), "bool"))
    state = [Var(f"state{i}", t) for i, t in enumerate(types)]
    _typed([turn, going, *state])
    next_going, *outputs = node.run(body, [turn, going, *state])
    added = outputs[len(state) :]
    row_types = [TensorType((AnyDim(), *_known_dims(item)), type_of(item).dtype) for item in added]
    rows = [Var(f"rows{i}", t) for i, t in enumerate(row_types)]
    _typed(rows)
    arguments = (TensorType((), "int64"), TensorType((), "bool"), *types, *row_types)
    again = Var("loop", FuncType(arguments, TupleType((*types, *row_types))))
    more = [ops.concatenate([row, unsqueeze(item, [0])], axis=0) for row, item in zip(rows, added, strict=True)]
    one_more = ops.add(turn, constant(1, "int64"))
    turned = Call(again, (one_more, _scalar(next_going), *outputs[: len(state)], *more))
    goes_on = going if trips is None else ops.logical_and(going, ops.less(turn, _scalar(trips)))
    body_of_loop = If(goes_on, turned, Tuple((*state, *rows)))
    function = Function((turn, going, *state, *rows), body_of_loop, TupleType((*types, *row_types)))
    start = [constant(0, "int64"), constant(True) if condition is None else _scalar(condition)]
    none = [constant(np.zeros((0, *_known_dims(item)), type_of(item).dtype)) for item in added]
    whole = settle(Let(again, function, Call(again, (*start, *initial, *none))))
    return [settle(TupleGetItem(whole, i)) for i in range(len(types) + len(rows))]


def _typed(variables: Sequence[Var]) -> None:
    for v in variables:
        settle(v)


def _scalar(x: RelayExpr) -> RelayExpr:
    return reshape(x, []) if rank_of(x) else x


def _known_dims(item: RelayExpr) -> tuple[int, ...]:
    dims = type_of(item).dims
    if not all(isinstance(d, int) for d in dims):
        raise ConversionError(
            "the extents of what an iteration appends to the outputs must be known while importing; give `shape`"
        )
    return tuple(int(d) for d in dims if isinstance(d, int))


def _types_after(node: Node, types: list[TensorType]) -> list[TensorType]:
    """Return the types of the loop-carried values after an iteration."""
    state = [Var(f"state{i}", t) for i, t in enumerate(types)]
    turn, going = Var("turn", TensorType((), "int64")), Var("going", TensorType((), "bool"))
    _typed([turn, going, *state])
    outputs = node.run(node.required("body"), [turn, going, *state])
    if len(outputs) < 1 + len(types):
        raise ConversionError(f"its body has {len(outputs)} outputs for {len(types)} carried values")
    return [type_of(output) for output in outputs[1 : len(types) + 1]]
