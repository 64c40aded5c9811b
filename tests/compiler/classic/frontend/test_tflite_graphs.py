"""Branches and loops of TensorFlow Lite, and operators whose results depend on values, beside its interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tflite")
tf = pytest.importorskip("tensorflow")
from tensorflow.compiler.tf2xla.ops import gen_xla_ops  # noqa: E402

from tests.compiler.classic.frontend.tensorflow_models import Case, numbers  # noqa: E402
from tests.compiler.classic.frontend.test_tflite_operators import computed, expected_of, file_of, inputs_of  # noqa: E402


def turns(count: Any) -> Any:
    """Return a loop that adds a row to a sum in each turn, some times."""

    def function(x: Any) -> Any:
        return tf.while_loop(
            lambda i, total: i < count(x),
            lambda i, total: (i + 1, tf.tanh(total + x * tf.cast(i, tf.float32)) @ numbers(4, 4)),
            (tf.constant(0), x),
        )

    return function


def halved_until_small(x: Any) -> Any:
    """Return a tensor halved until its sum is small, and how often that was."""
    return tf.while_loop(
        lambda i, y: tf.reduce_sum(tf.abs(y)) > 0.1, lambda i, y: (i + 1, y * 0.5), (tf.constant(0), x)
    )


CASES = {
    "known_turns": Case(turns(lambda x: 5), ((3, 4),)),
    "turns_of_the_run": Case(turns(lambda x: tf.cast(tf.reduce_sum(x * x), tf.int32)), ((3, 4),)),
    "loop_until": Case(halved_until_small, ((3, 4),)),
    "branch": Case(lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2.0, lambda: tf.sin(x)), ((3, 4),)),
    "branch_in_a_loop": Case(
        lambda x: tf.while_loop(
            lambda i, y: i < 4,
            lambda i, y: (i + 1, tf.cond(tf.reduce_sum(y) > 0, lambda: y - 1.0, lambda: y * 0.5)),
            (tf.constant(0), x),
        )[1],
        ((3, 4),),
    ),
    "where": Case(lambda x: tf.where(x > 0), ((3, 4),)),
    "unique": Case(lambda x: tuple(tf.unique(x)), ((12,),), "int32", -3),
    "segments": Case(lambda x: tf.math.segment_sum(x, [0, 0, 1]), ((3, 4),)),
    **{
        f"unsorted_segment_{name}": Case(
            lambda x, name=name: getattr(tf.math, f"unsorted_segment_{name}")(x, [3, 0, 3, 1], 4), ((4, 5),)
        )
        for name in ("sum", "prod", "max", "min")
    },
    "segments_of_elements": Case(lambda x: tf.math.unsorted_segment_sum(x, [[2, 0], [1, 2]], 3), ((2, 2, 5),)),
    "atan2": Case(tf.math.atan2, ((5, 6), (5, 6))),
    "bitcast": Case(lambda x: tf.bitcast(x, tf.int32), ((3, 4),)),
    "bucketize": Case(lambda x: tf.raw_ops.Bucketize(input=x, boundaries=[-1.0, 0.25, 1.0]), ((3, 4),)),
    "volume": Case(
        lambda x: (
            tf.nn.conv3d(x, numbers(2, 3, 3, 2, 4), (1, 1, 2, 2, 1), "SAME") + 0.5,
            tf.nn.conv3d_transpose(x, numbers(2, 3, 3, 3, 2), (1, 8, 6, 5, 3), (1, 2, 1, 1, 1), "SAME"),
        ),
        ((1, 4, 6, 5, 2),),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_graph_computes_what_its_interpreter_does(name: str) -> None:
    data, inputs = file_of(CASES[name]), inputs_of(CASES[name])
    results, expected = computed(data, inputs), expected_of(data, inputs)
    assert len(results) == len(expected)
    for result, reference in zip(results, expected, strict=True):
        assert result.dtype == reference.dtype
        np.testing.assert_allclose(result, reference, rtol=1e-4, atol=1e-5)


def test_atan2_of_zeros_and_infinities() -> None:
    values = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 1e-30], "float32")
    y, x = (grid.reshape(-1) for grid in np.meshgrid(values, values))
    data = file_of(Case(tf.math.atan2, ((49,), (49,))))
    np.testing.assert_allclose(computed(data, [y, x])[0], np.arctan2(y, x), rtol=1e-6)


@pytest.mark.parametrize("start", [(0, 0), (1, 2), (5, -4)])
def test_a_part_is_written_where_it_has_room(start: tuple[int, int]) -> None:
    def function(x: Any, at: Any) -> Any:
        return gen_xla_ops.xla_dynamic_update_slice(x, numbers(2, 3), tf.cast(at, tf.int32))

    data = file_of(Case(function, ((4, 5), (2,))))
    inputs = [np.arange(20, dtype="float32").reshape(4, 5), np.array(start, "float32")]
    np.testing.assert_array_equal(computed(data, inputs)[0], expected_of(data, inputs)[0])
