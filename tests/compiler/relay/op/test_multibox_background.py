"""Boxes of the background, as TVM 0.19 keeps them."""

import numpy as np

import compiler as tvm
from compiler import relay

PROBABILITIES = np.array([[0.3, 0.3, 0.1, 0.8], [0.4, 0.7, 0.4, 0.1], [0.3, 0.0, 0.5, 0.1]], "float32")[None]


def test_every_anchor_has_a_box_where_the_background_is_kept():
    anchors = np.random.default_rng(0).random((1, 4, 4)).astype("float32")
    arrays = (PROBABILITIES, np.zeros((1, 16), "float32"), anchors)
    variables = [relay.var(name, shape=a.shape) for name, a in zip("pla", arrays, strict=True)]
    boxes = relay.vision.multibox_transform_loc(*variables, clip=False, threshold=0.45, keep_background=True)
    mod = tvm.IRModule.from_expr(relay.Function(variables, boxes.astuple()))
    for executor in ("debug", "graph"):
        made, count = relay.create_executor(executor, mod=mod).evaluate()(*arrays)
        assert count.numpy().tolist() == [4]
        np.testing.assert_allclose(made.numpy()[0, :, 0], [0, 1, 2, 0])
        np.testing.assert_allclose(made.numpy()[0, :, 1], [0.4, 0.7, 0.5, 0.1])  # of the best that is no background
        np.testing.assert_allclose(made.numpy()[0, :, 2:], anchors[0], rtol=1e-5)
