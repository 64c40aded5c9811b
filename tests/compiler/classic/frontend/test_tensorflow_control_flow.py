"""Branches, loops and calls of functions beside TensorFlow itself; the layout and the outputs of a graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.classic.frontend.tensorflow import ConversionError
from compiler.classic.frontend.tensorflow.messages import GraphDef

DATA = Path(__file__).parent / "data"


def test_convolutions_have_channels_first_where_that_is_asked_for() -> None:
    recorded = np.load(DATA / "frozen.npz")
    mod, params = relay.frontend.from_tensorflow(DATA / "frozen.pb", layout="NCHW")
    text = mod.astext()
    assert 'data_layout="NHWC"' not in text
    assert "layout_transform" in text or "transpose" in text
    result = relay.create_executor("debug", mod=mod).evaluate()(recorded["x"], **params)
    np.testing.assert_allclose(result.numpy(), recorded["y"], rtol=1e-4, atol=1e-6)


def test_the_last_node_is_the_output() -> None:
    graph = GraphDef()
    graph.node.add(name="x", op="Placeholder")
    for name in ("Exp", "Abs"):
        graph.node.add(name=name, op=name, input=["x"])
    mod, _ = relay.frontend.from_tensorflow(graph, shape={"x": (3,)})
    assert mod["main"].body.op.name == "abs"


def test_a_function_that_is_not_there_or_calls_itself_is_named() -> None:
    graph = GraphDef()
    graph.node.add(name="x", op="Placeholder")
    call = graph.node.add(name="y", op="PartitionedCall", input=["x"])
    attribute = call.attr.add(key="f")
    attribute.value.func.name = "again"
    with pytest.raises(ConversionError, match="function 'again' is not in the graph's library"):
        relay.frontend.from_tensorflow(graph, shape={"x": (3,)})
    function = graph.library.function.add()
    function.signature.name = "again"
    function.signature.input_arg.add(name="x")
    function.signature.output_arg.add(name="y")
    function.node_def.add().CopyFrom(call)
    function.ret.add(key="y", value="y:output:0")
    with pytest.raises(ConversionError, match="function 'again' is recursive"):
        relay.frontend.from_tensorflow(graph, shape={"x": (3,)})


tf = pytest.importorskip("tensorflow")


def counted(x: Any) -> Any:
    """Five turns, which are known."""
    return tf.while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 1.5 + 1.0), [tf.constant(0), x])[1]


def doubled(x: Any) -> Any:
    """As many turns as the values ask for."""
    return tf.while_loop(lambda x: tf.reduce_sum(x) < 100.0, lambda x: (tf.abs(x) * 2.0 + 0.5,), [x])[0]


def growing(x: Any) -> Any:
    """A value whose extent changes from turn to turn."""
    last = tf.while_loop(
        lambda i, rows: tf.logical_and(i < 4, tf.reduce_sum(rows) < 50.0),
        lambda i, rows: (i + 1, tf.concat([rows, tf.abs(x) + 1.0], 0)),
        [tf.constant(0), x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    return last[0]


def listed(x: Any) -> Any:
    """A list that is filled and read, in a known number of turns."""
    rows = tf.TensorArray(tf.float32, 4).unstack(tf.stack([x, x + 1.0, x * 2.0, -x]))
    sums = tf.TensorArray(tf.float32, 4)
    return tf.while_loop(lambda i, s, a: i < 4, lambda i, s, a: (i + 1, s + rows.read(i), a.write(i, s)), [0, x, sums])[
        2
    ].stack()


def listed_by_values(x: Any) -> Any:
    """A list that is filled in as many turns as the values ask for."""
    last = tf.while_loop(
        lambda i, s, a: tf.logical_and(i < 6, tf.reduce_sum(s) < 40.0),
        lambda i, s, a: (i + 1, tf.abs(s) * 2.0 + 0.5, a.write(i, s)),
        [0, x, tf.TensorArray(tf.float32, 6)],
    )
    return last[2].stack(), last[1]


def decided(x: Any) -> Any:
    """One of two branches, with two results."""
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: (x + 1.0, x * 2.0), lambda: (x - 1.0, tf.abs(x)))


def sorted_in_a_branch(x: Any) -> Any:
    """The second result of an operator within a function."""
    return tf.cond(x[0] > 0.0, lambda: tf.math.top_k(x, 2).indices, lambda: tf.math.top_k(-x, 2).indices)


def nested(x: Any) -> Any:
    return tf.cond(x[0] > 0.0, lambda: counted(x), lambda: doubled(x))


def calling(x: Any) -> Any:
    """A function that is called."""
    inner = tf.function(lambda v: tf.nn.relu(v) + 1.0, autograph=False)
    return inner(inner(x))


FUNCTIONS = (counted, doubled, growing, listed, listed_by_values, decided, sorted_in_a_branch, nested, calling)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_control_flow_computes_what_tensorflow_does(function: Callable[..., Any], sign: int) -> None:
    signature = [tf.TensorSpec((3,), tf.float32, name="x")]
    concrete = tf.function(function, input_signature=signature, autograph=False).get_concrete_function()
    x = np.array([0.5, 1.25, 3.0], "float32") * sign
    result = concrete(tf.constant(x))
    expected = [np.asarray(y) for y in (result if isinstance(result, (list, tuple)) else [result])]
    graph = concrete.graph.as_graph_def()
    mod, params = relay.frontend.from_tensorflow(graph, outputs=[tensor.name for tensor in concrete.outputs])
    computed = relay.create_executor("vm", mod=mod).evaluate()(x, **params)
    results = [computed] if hasattr(computed, "numpy") else list(computed)
    assert len(results) == len(expected)
    for own, reference in zip(results, expected, strict=True):
        np.testing.assert_allclose(own.numpy(), reference, rtol=1e-5)
