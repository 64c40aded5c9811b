"""Loops and branches of TensorFlow's first generation: frames, and values of which one is dead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.relay.frontend.tensorflow import ConversionError, ModelError
from compiler.relay.frontend.tensorflow.messages import GraphDef


def graph_of(*nodes: str) -> Any:
    """Return a graph of lines such as ``y = Add a b``; constants are written as ``c = Const 2.5``."""
    graph = GraphDef()
    for line in nodes:
        name, _, operator, *inputs = line.split()
        node = graph.node.add(name=name, op=operator)
        if operator == "Const":
            tensor = node.attr.add(key="value").value.tensor
            tensor.dtype = 1
            tensor.float_val.append(float(inputs[0]))
        else:
            node.input.extend(inputs)
        if operator == "Enter":
            node.attr.add(key="frame_name").value.s = b"loop"
    return graph


LOOP = (
    "x = Placeholder",
    "limit = Const 20",
    "two = Const 2",
    "start = Enter x",
    "bound = Enter limit",
    "factor = Enter two",
    "merge = Merge start next",
    "less = Less merge bound",
    "cond = LoopCond less",
    "switch = Switch merge cond",
    "body = Mul switch:1 factor",
    "next = NextIteration body",
    "exit = Exit switch",
)
BRANCH = (
    "x = Placeholder",
    "zero = Const 0",
    "two = Const 2",
    "positive = Greater x zero",
    "switch = Switch x positive",
    "no = Neg switch",
    "yes = Mul switch:1 two",
    "merge = Merge no yes",
)


def run(graph: Any, x: float, output: str) -> Any:
    mod, params = relay.frontend.from_tensorflow(graph, shape={"x": ()}, outputs=[output])
    return relay.create_executor("vm", mod=mod).evaluate()(np.float32(x), **params).numpy()


@pytest.mark.parametrize(("x", "after"), [(1.5, 24), (30, 30)])
def test_frames_are_loops(x: float, after: float) -> None:
    assert run(graph_of(*LOOP), x, "exit") == after


@pytest.mark.parametrize(("x", "value", "index"), [(1.5, 3, 1), (-4, 4, 0)])
def test_merges_of_two_branches_are_conditions(x: float, value: float, index: int) -> None:
    assert run(graph_of(*BRANCH), x, "merge") == value
    assert run(graph_of(*BRANCH), x, "merge:1") == index


def without(nodes: tuple[str, ...], name: str, instead: str) -> Any:
    return graph_of(*(instead if line.startswith(f"{name} = ") else line for line in nodes))


@pytest.mark.parametrize(
    ("graph", "output", "message"),
    [
        (without(BRANCH, "no", "no = Neg merge"), "merge", "depend on each other in a circle"),
        (without(LOOP, "next", "next = Identity body"), "exit", "'merge'.* takes 'next', no NextIteration"),
        (without(LOOP, "merge", "merge = Merge start start"), "exit", "'merge'.* takes 'start', no NextIteration"),
        (without(LOOP, "switch", "switch = Identity merge"), "exit", "the loop 'loop' has 0 conditions"),
        (without(LOOP, "exit", "exit = Exit x"), "exit", "'exit'.*: it is no value that a loop carries"),
        (without(LOOP, "merge", "merge = Merge start"), "exit", "'merge'.* has fewer than 2 inputs"),
        (without(BRANCH, "yes", "yes = Mul x two"), "merge", "'merge'.*: its inputs are not the two branches"),
    ],
)
def test_what_is_no_loop_or_branch_is_named(graph: Any, output: str, message: str) -> None:
    with pytest.raises((ConversionError, ModelError), match=message):
        relay.frontend.from_tensorflow(graph, shape={"x": ()}, outputs=[output])


tf = pytest.importorskip("tensorflow")
v1 = tf.compat.v1


def doubled(x: Any) -> Any:
    """As many turns as the values ask for."""
    return v1.while_loop(lambda i, x: tf.reduce_sum(x) < 100.0, lambda i, x: (i + 1, tf.abs(x) * 2.0 + 0.5), [0, x])


def counted(x: Any) -> Any:
    """Five turns, which are known."""
    return v1.while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 1.5 + 1.0), [0, x])[1]


def with_an_invariant(x: Any) -> Any:
    y = tf.exp(x)
    return v1.while_loop(lambda z: tf.reduce_sum(z) < 50.0, lambda z: z + tf.abs(y) + 0.1, [tf.zeros([3])])


def loop_in_a_loop(x: Any) -> Any:
    def inner(v: Any) -> Any:
        return v1.while_loop(lambda v: tf.reduce_max(v) < 20.0, lambda v: v * 1.5 + 1.0, [v])

    return v1.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, inner(tf.abs(v) / 4.0)), [0, x])[1]


def decided(x: Any) -> Any:
    """Two results of each branch."""
    return v1.cond(tf.reduce_sum(x) > 0.0, lambda: (x + 1.0, x * 2.0), lambda: (x - 1.0, tf.abs(x)))


def constants(x: Any) -> Any:
    """Branches that take nothing from outside."""
    return v1.cond(x[0] > 0.0, lambda: tf.constant([1.0, 2.0]), lambda: tf.constant([3.0, 4.0]))


def branches_in_branches(x: Any) -> Any:
    return v1.cond(x[0] > 0.0, lambda: counted(x), lambda: v1.cond(x[1] < -2.0, lambda: x * 3.0, lambda: doubled(x)[1]))


def branch_in_a_loop(x: Any) -> Any:
    def body(v: Any) -> Any:
        return v1.cond(tf.reduce_max(v) > 3.0, lambda: tf.abs(v) + 4.0, lambda: tf.abs(v) * 2.0 + 0.3)

    return v1.while_loop(lambda v: tf.reduce_sum(v) < 40.0, body, [x])


FUNCTIONS = (
    *(doubled, counted, with_an_invariant, loop_in_a_loop),
    *(decided, constants, branches_in_branches, branch_in_a_loop),
)


@pytest.fixture(scope="module")
def first_generation() -> Any:
    v1.disable_control_flow_v2()
    yield
    v1.enable_control_flow_v2()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_frames_compute_what_tensorflow_does(first_generation: None, function: Callable[..., Any], sign: int) -> None:
    x = np.array([0.5, 1.25, 3.0], "float32") * sign
    graph = tf.Graph()
    with graph.as_default():
        results = function(v1.placeholder(tf.float32, [3], name="x"))
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        with v1.Session() as session:
            expected = session.run(results, {"x:0": x})
    mod, params = relay.frontend.from_tensorflow(graph.as_graph_def(), outputs=[result.name for result in results])
    computed = relay.create_executor("vm", mod=mod).evaluate()(x, **params)
    for own, reference in zip([computed] if hasattr(computed, "numpy") else computed, expected, strict=True):
        np.testing.assert_allclose(own.numpy(), reference, rtol=1e-5)
