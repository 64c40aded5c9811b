"""Time steps of recurrent layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.control_flow import MAX_ITERATIONS, while_loop
from compiler.relay.frontend.shared.errors import ModelError
from compiler.relay.frontend.shared.folding import constant, dtype_of, ops
from compiler.relay.frontend.shared.tensors import bounded, reshape, slice_axis, static_dims


def steps(
    x: RelayExpr,
    states: Sequence[RelayExpr],
    step: Callable[[RelayExpr, Sequence[RelayExpr]], Sequence[RelayExpr]],
    backwards: bool = False,
) -> tuple[RelayExpr, Sequence[RelayExpr]]:
    """Unroll a recurrence; return the stacked first states of all steps, and the final states.

    ``step`` maps the input and the states before it to those after it.  Backwards it starts at the end of ``x``; the
    results are in the order of ``x``.
    """
    count, *part = static_dims(x, "the sequence")
    if not count:
        raise ModelError("a sequence without steps has no results")
    if count > MAX_ITERATIONS:
        return _looped(x, states, step, backwards)
    results: list[RelayExpr] = []
    for i in reversed(range(count)) if backwards else range(count):
        states = step(reshape(slice_axis(x, 0, i, i + 1), part), states)
        results.append(states[0])
    return ops.stack(results[::-1] if backwards else results, 0), states


def _looped(
    x: RelayExpr,
    states: Sequence[RelayExpr],
    step: Callable[[RelayExpr, Sequence[RelayExpr]], Sequence[RelayExpr]],
    backwards: bool,
) -> tuple[RelayExpr, Sequence[RelayExpr]]:
    count, dims = static_dims(x, "the sequence")[0], static_dims(states[0], "the state")
    bounded(count, *dims)

    def turn(carried: Sequence[RelayExpr]) -> list[RelayExpr]:
        i, results, *before = carried
        at = ops.subtract(count - 1, i) if backwards else i
        after = step(ops.take(x, at, axis=0), before)
        rows = ops.scatter_nd(results, reshape(at, [1, 1]), ops.expand_dims(after[0], 0), mode="update")
        return [ops.add(i, 1), rows, *after]

    start = constant(np.zeros((count, *dims)), dtype_of(states[0]))
    first = [constant(0, "int32"), start, *states]
    _, results, *last = while_loop(first, lambda carried: ops.less(carried[0], count), turn)
    return results, last
