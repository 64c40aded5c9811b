"""Operators of TensorFlow beside TensorFlow itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.classic.frontend.tensorflow.messages import GraphDef

tf = pytest.importorskip("tensorflow")
from tests.compiler.classic.frontend.tensorflow_models import CASES, KERNEL, Case, numbers  # noqa: E402

MORE = {
    **{
        name: Case(getattr(tf.math, name), ((3, 4),))
        for name in ("atan", "softplus", "softsign", "erf", "expm1", "sinh")
    },
    "selu": Case(tf.nn.selu, ((3, 4),)),
    "explicit_padding": Case(lambda x: tf.nn.conv2d(x, KERNEL, 1, ((0, 0), (2, 0), (1, 3), (0, 0))), ((1, 6, 5, 3),)),
    "batch_norm": Case(
        lambda x: tf.compat.v1.nn.fused_batch_norm(
            x, (1.0, 2.0, 0.5), (0.1, 0.2, 0.3), (0.0, 1.0, 0.5), (1.0, 2.0, 0.5), is_training=False
        )[0],
        ((2, 4, 5, 3),),
    ),
    "clip": Case(lambda x: tf.clip_by_value(x, -0.5, 0.75), ((3, 4),)),
    "range": Case(lambda x: x + tf.range(4.0), ((3, 4),)),
    "half": Case(lambda x: tf.cast(tf.cast(x, tf.float16) + tf.constant(0.5, tf.float16), tf.float32), ((3, 4),)),
    "mod_c": Case(lambda a, b: tf.raw_ops.TruncateMod(x=a, y=tf.abs(b) + 1), ((9,), (9,)), "int32", -20),
    "no_nan": Case(
        lambda a, b: (
            tf.math.divide_no_nan(a, tf.nn.relu(b)),
            tf.math.multiply_no_nan(a, tf.nn.relu(b)),
            tf.math.xdivy(tf.nn.relu(a), b),
            tf.math.xlogy(tf.nn.relu(a), tf.abs(b)),
        ),
        ((3, 4), (3, 4)),
    ),
    "logic": Case(lambda a, b: (tf.math.logical_xor(a > 0, b > 0), tf.bitwise.invert(b)), ((9,), (9,)), "int32", -9),
    "einsum": Case(lambda a, b: tf.einsum("bqhd,bkhd->bhqk", a, b), ((2, 3, 2, 4), (2, 5, 2, 4))),
    "einsum_dots": Case(lambda a, b: tf.einsum("...ij,jk", a, b), ((2, 3, 4), (4, 5))),
    "band_part": Case(lambda x: (tf.linalg.band_part(x, 1, -1), tf.linalg.band_part(x, -1, 0)), ((2, 4, 5),)),
    "diagonals": Case(
        lambda x, d: (
            tf.raw_ops.MatrixSetDiag(input=x, diagonal=d),
            tf.linalg.set_diag(x, d),
            tf.raw_ops.MatrixDiag(diagonal=d),
        ),
        ((2, 3, 4), (2, 3)),
    ),
    "roll": Case(lambda x: (tf.roll(x, (2, -1), (0, 1)), tf.roll(x, 5, 0)), ((3, 4),)),
    "reverse_sequence": Case(lambda x: tf.reverse_sequence(x, [1, 3, 2], seq_axis=1, batch_axis=0), ((3, 4),)),
    "concat_first": Case(lambda a, b: tf.raw_ops.Concat(concat_dim=-1, values=[a, b]), ((2, 3), (2, 1))),
    "scatter": Case(
        lambda x: (
            tf.scatter_nd([[1], [3], [1]], x, (5, 4)),
            tf.tensor_scatter_nd_update(tf.zeros((5, 4)), [[4], [0], [2]], x),
            tf.tensor_scatter_nd_add(tf.ones((5, 4)), [[4], [0], [4]], x),
        ),
        ((3, 4),),
    ),
    "permutation": Case(lambda x: tf.math.invert_permutation([2, 0, 3, 1]) + tf.cast(x, tf.int32), ((4,),)),
    "linspace": Case(lambda x: x + tf.raw_ops.LinSpace(start=1.0, stop=3.0, num=4), ((3, 4),)),
    "lengths": Case(lambda x: (tf.norm(x, axis=1), tf.math.reduce_euclidean_norm(x, 0), tf.nn.l2_loss(x)), ((3, 4),)),
    "cumprod": Case(lambda x: tf.math.cumprod(x, 1, exclusive=True, reverse=True), ((3, 4),)),
    "segments": Case(
        lambda x: (tf.math.segment_sum(x, [0, 0, 2]), tf.math.unsorted_segment_sum(x, [3, -1, 3], 5)), ((3, 4),)
    ),
    "reduced_segments": Case(
        lambda x: (
            *(getattr(tf.math, f"segment_{name}")(x, [0, 0, 2]) for name in ("prod", "max", "min", "mean")),
            *(getattr(tf.math, f"unsorted_segment_{n}")(x, [3, -1, 3], 4) for n in ("prod", "max", "min")),
            tf.math.unsorted_segment_max(x, [[1, 0, 1, 2]] * 3, 4),
        ),
        ((3, 4),),
    ),
    "atan2": Case(lambda y, x: (tf.math.atan2(y, x), tf.math.atan2(y * 0, x)), ((5, 6), (5, 6))),
    "bitcast": Case(lambda x: tf.bitcast(x, tf.int32), ((3, 4),)),
    "volume": Case(
        lambda x: (
            tf.nn.conv3d(x, numbers(2, 3, 3, 2, 4), (1, 1, 2, 2, 1), "SAME"),
            tf.nn.max_pool3d(x, 2, 2, "VALID"),
            tf.nn.avg_pool3d(x, (2, 3, 2), (1, 2, 1), "SAME"),
        ),
        ((1, 4, 6, 5, 2),),
    ),
    "dilation": Case(
        lambda x: tf.nn.dilation2d(x, numbers(2, 3, 3), (1, 1, 2, 1), "SAME", "NHWC", (1, 2, 1, 1)), ((1, 6, 5, 3),)
    ),
    "pool_of_computed_window": Case(
        lambda x: tf.raw_ops.MaxPoolV2(input=x, ksize=[1, 2, 2, 1], strides=[1, 1, 2, 1], padding="VALID"),
        ((1, 6, 5, 3),),
    ),
    "shapes_of_a_broadcast": Case(
        lambda x: tf.broadcast_to(x, tf.raw_ops.BroadcastArgs(s0=[2, 1, 4], s1=[3, 1])), ((3, 4),)
    ),
    "batches_of_other_ranks": Case(lambda a, b: (a @ b, a[0] @ b), ((2, 3, 4), (4, 5))),
    "scatter_of_differences": Case(lambda x: tf.tensor_scatter_nd_sub(tf.ones((5, 4)), [[4], [0], [4]], x), ((3, 4),)),
    "log1p_of_nothing": Case(lambda a, b: tf.math.xlog1py(tf.nn.relu(a), tf.abs(b)), ((3, 4), (3, 4))),
    "marks_of_tools": Case(
        lambda x: tf.raw_ops.GuaranteeConst(input=x) + tf.raw_ops.DebugIdentity(input=x, tensor_name="x"), ((3, 4),)
    ),
    **{
        f"crops_{method}": Case(
            lambda x, method=method: tf.image.crop_and_resize(
                x, [[0.1, 0.2, 0.8, 0.9], [0.0, 1.0, 1.2, 0.0], [0.5, 0.5, 0.72, 0.6]], [1, 0, 1], (4, 5), method, 2.5
            ),
            ((2, 6, 7, 3),),
        )
        for method in ("bilinear", "nearest")
    },
    "bits": Case(lambda a, b: (tf.bitwise.bitwise_and(a, b), tf.bitwise.bitwise_xor(a, b)), ((9,), (9,)), "int32", -20),
}


@pytest.mark.parametrize("name", [*CASES, *MORE])
def test_operator_computes_what_tensorflow_does(name: str) -> None:
    case = CASES.get(name) or MORE[name]
    signature = [tf.TensorSpec(shape, case.dtype, name=f"x{i}") for i, shape in enumerate(case.shapes)]
    function = tf.function(case.function, input_signature=signature, autograph=False).get_concrete_function()
    random = np.random.default_rng(0)
    inputs = [random.uniform(case.low, 2, shape).astype(case.dtype) for shape in case.shapes]
    result = function(*map(tf.constant, inputs))
    expected = list(result) if isinstance(result, (list, tuple)) else [result]
    outputs = [tensor.name for tensor in function.outputs]
    mod, params = relay.frontend.from_tensorflow(function.graph.as_graph_def(), outputs=outputs)
    given: Any = {f"x{i}": value for i, value in enumerate(inputs)}
    computed = relay.create_executor("debug", mod=mod).evaluate()(**given, **params)
    results = [computed] if hasattr(computed, "numpy") else list(computed)
    assert len(results) == len(expected)
    for own, reference in zip(results, expected, strict=True):
        assert own.dtype == reference.dtype.name
        np.testing.assert_allclose(own.numpy(), reference.numpy(), rtol=1e-4, atol=1e-5)


def test_messages_are_read_as_tensorflow_writes_them() -> None:
    """The table of fields agrees with TensorFlow's definitions: what is read is written back unchanged."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, (None, 4), name="x")
        tf.nn.conv2d(tf.reshape(x, (1, 2, 2, -1)), tf.ones((1, 1, 1, 2)), 1, "SAME", name="y")
    definition = graph.as_graph_def()
    definition.ClearField("versions")
    ours = GraphDef()
    ours.ParseFromString(definition.SerializeToString())
    again = tf.compat.v1.GraphDef()
    again.ParseFromString(ours.SerializeToString())
    assert again == definition
