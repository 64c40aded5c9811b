"""Control flow of TensorFlow's first generation, compared with TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import relay

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
