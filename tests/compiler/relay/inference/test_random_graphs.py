"""Random graphs: the types that inference finds are those of the arrays that NumPy computes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import compiler.relay
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call, Constant, Tuple, TupleGetItem
from compiler.relay.inference import infer_expr
from compiler.relay.ty import TensorType

relay: Any = compiler.relay


def _unary(draw: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return getattr(relay, draw(st.sampled_from(["exp", "negative", "tanh", "isnan"])))(x)


def _permuted(draw: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return relay.transpose(x, draw(st.permutations(range(len(shape)))))


def _reduced(draw: Any, x: Any, shape: tuple[int, ...]) -> Any:
    axes = draw(st.lists(st.sampled_from(range(len(shape))), unique=True, min_size=1)) if shape else None
    kind = draw(st.sampled_from(["sum", "max", "mean", "argmax"]))
    return getattr(relay, kind)(x, axis=axes, keepdims=draw(st.booleans()))


def _reshaped(draw: Any, x: Any, shape: tuple[int, ...]) -> Any:
    keep = draw(st.integers(0, len(shape)))
    return relay.reshape(x, (*shape[:keep], -1))


def _flat(draw: Any, x: Any, shape: tuple[int, ...]) -> Any:
    return relay.expand_dims(x, axis=draw(st.integers(-len(shape) - 1, len(shape))), num_newaxis=1)


def _joined(draw: Any, x: Any, shape: tuple[int, ...]) -> Any:
    if not shape:
        return relay.stack([x, x], axis=0)
    return relay.concatenate([x, relay.exp(x), x], axis=draw(st.integers(-len(shape), len(shape) - 1)))


def _part(draw: Any, x: Any, shape: tuple[int, ...]) -> Any:
    axis = draw(st.sampled_from([i for i, d in enumerate(shape) if d > 1] or [None]))  # type: ignore[list-item]
    if axis is None:
        return x
    at = draw(st.integers(1, shape[axis] - 1))
    return relay.split(x, (at,), axis=axis)[draw(st.integers(0, 1))]


def _product(draw: Any, x: Any, shape: tuple[int, ...]) -> Any:
    if not shape:
        return x
    units = draw(st.integers(1, 4))
    return relay.nn.dense(x, relay.const(np.ones((units, shape[-1]), "float32")))


_STEPS = [_unary, _permuted, _reduced, _reshaped, _flat, _joined, _part, _product]


def _evaluate(expr: Any, x: Any, value: Any) -> dict[Any, Any]:
    found: dict[Any, Any] = {x: value}
    for part in post_order(expr):
        match part:
            case Constant():
                found[part] = part.value
            case Call():
                found[part] = part.op.reference(part.attrs, *[found[a] for a in part.args])
            case Tuple():
                found[part] = tuple(found[f] for f in part.fields)
            case TupleGetItem():
                found[part] = found[part.tuple_value][part.index]
    return found


@st.composite
def _graphs(draw: Any) -> tuple[Any, Any, tuple[int, ...]]:
    """Return a graph, its input, and the input's shape."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    x = relay.var("x", shape=shape)
    nodes = [x]
    for _ in range(draw(st.integers(1, 8))):
        source = draw(st.sampled_from(nodes))
        t: Any = infer_expr(source)
        if t.dtype != "float32":
            source = relay.cast(source, "float32")
        made = draw(st.sampled_from(_STEPS))(draw, source, t.concrete_shape)
        if draw(st.booleans()):
            scalar = relay.sum(relay.cast(draw(st.sampled_from(nodes)), "float32"))
            made = relay.add(relay.cast(made, "float32"), scalar)
        nodes.append(made)
    return relay.Tuple(nodes), x, shape


@given(_graphs())
def test_types_are_those_of_the_values(made: tuple[Any, Any, tuple[int, ...]]) -> None:
    graph, x, shape = made
    infer_expr(graph)
    with np.errstate(all="ignore"):
        values = _evaluate(graph, x, np.ones(shape, "float32"))
    for part, value in values.items():
        if isinstance(value, (np.ndarray, np.generic)):
            assert part.checked_type == TensorType(value.shape, str(value.dtype)), part
