"""Places of elements, counts, best boxes, diagonals and cubic sampling beside TensorFlow itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.classic.frontend.tensorflow.messages import GraphDef

tf = pytest.importorskip("tensorflow")
raw, v1 = tf.raw_ops, tf.compat.v1


def reals(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype("float32")


def integers(*shape: int, below: int = 5) -> Any:
    return np.random.default_rng(sum(shape)).integers(0, below, shape).astype("int32")


BOXES = np.array(
    [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]], "float32"
)
SCORES = np.array([0.9, 0.75, 0.6, 0.95, 0.5, 0.3], "float32")
NOTHING = np.zeros(0, "float32")


def padded_boxes(boxes: Any, scores: Any) -> Any:
    return raw.NonMaxSuppressionV4(
        boxes=boxes,
        scores=scores,
        max_output_size=5,
        iou_threshold=0.5,
        score_threshold=0.4,
        pad_to_max_output_size=True,
    )


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "where": (lambda x: tf.where(x > 0), (reals(3, 4),)),
    "unique": (tf.unique_with_counts, (integers(12),)),
    "unravel_index": (lambda x: tf.unravel_index(x, [3, 7]), (integers(5, below=20),)),
    "bincount": (lambda x: raw.DenseBincount(input=x, size=6, weights=NOTHING), (integers(12),)),
    "bincount_rows": (
        lambda x: raw.DenseBincount(input=x, size=6, weights=NOTHING, binary_output=True),
        (integers(3, 8),),
    ),
    "bincount_weights": (lambda x, w: raw.DenseBincount(input=x, size=6, weights=w), (integers(12), reals(12))),
    "boxes": (lambda b, s: tf.image.non_max_suppression(b, s, 3), (BOXES, SCORES)),
    "boxes_padded": (padded_boxes, (BOXES, SCORES)),
    "boxes_scores": (lambda b, s: list(tf.image.non_max_suppression_with_scores(b, s, 4, 0.5)[:2]), (BOXES, SCORES)),
    "conv3d_transpose": (
        lambda x: tf.nn.conv3d_transpose(x, reals(3, 3, 3, 5, 2), (1, 6, 8, 6, 5), 2, "SAME"),
        (reals(1, 3, 4, 3, 2),),
    ),
    "cubic": (lambda x: tf.image.resize(x, (7, 11), "bicubic"), (reals(1, 5, 6, 2),)),
    "cubic_corners": (lambda x: v1.image.resize_bicubic(x, (7, 11), align_corners=True), (reals(1, 5, 6, 2),)),
    "diagonal_above": (lambda x: tf.linalg.diag(x, k=1), (reals(2, 4),)),
    "diagonal_below": (lambda x: tf.linalg.diag(x, k=-2, padding_value=9.0), (reals(2, 4),)),
    "diagonals": (lambda x: tf.linalg.diag(x, k=(-1, 1), num_rows=4, num_cols=5), (reals(2, 3, 4),)),
    "diagonal_set": (lambda x, d: raw.MatrixSetDiagV2(input=x, diagonal=d, k=[-1, 0]), (reals(4, 5), reals(2, 4))),
    "dense": (
        lambda v: raw.SparseToDense(
            sparse_indices=[[0, 1], [2, 0]], output_shape=[3, 2], sparse_values=v, default_value=0.5
        ),
        (reals(2),),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_operator_computes_what_tensorflow_does(name: str) -> None:
    function, inputs = CASES[name]
    graph = tf.Graph()
    with graph.as_default():
        given = [v1.placeholder(x.dtype, x.shape, name=f"x{i}") for i, x in enumerate(inputs)]
        results = tf.nest.flatten(function(*given))
    with v1.Session(graph=graph) as session:
        expected = session.run(results, dict(zip(given, inputs, strict=True)))
    mod, params = relay.frontend.from_tensorflow(graph.as_graph_def(), outputs=[result.name for result in results])
    computed = relay.create_executor("vm", mod=mod).evaluate()(*inputs, **params)
    atol = 5e-3 if name.startswith("cubic") else 1e-5  # TensorFlow takes cubic weights from a table
    for own, reference in zip([computed] if hasattr(computed, "numpy") else computed, expected, strict=True):
        assert own.dtype == reference.dtype
        np.testing.assert_allclose(own.numpy(), reference, rtol=1e-4, atol=atol)


def test_the_oldest_batch_normalization() -> None:
    graph = GraphDef()
    for name in ("x", "mean", "variance", "beta", "gamma"):
        graph.node.add(name=name, op="Placeholder")
    node = graph.node.add(name="y", op="BatchNormWithGlobalNormalization")
    node.input.extend(["x", "mean", "variance", "beta", "gamma"])
    node.attr.add(key="variance_epsilon").value.f = 0.25
    node.attr.add(key="scale_after_normalization").value.b = True
    values = [reals(1, 2, 2, 3), *(reals(3) + 2 for _ in range(4))]
    mod, _ = relay.frontend.from_tensorflow(
        graph, shape={n: v.shape for n, v in zip(("x", "mean", "variance", "beta", "gamma"), values, strict=True)}
    )
    x, mean, variance, beta, gamma = values
    expected = (x - mean) / np.sqrt(variance + 0.25) * gamma + beta
    result = relay.create_executor("debug", mod=mod).evaluate()(*values)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)
