"""Layers of neural networks: their types, and that NumPy references and generated code agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.relay.inference import TypeInferenceError, infer_expr
from tests.compiler.relay.op.nn.harness import check, random

nn = relay.nn


def test_relu_and_its_relatives() -> None:
    x, slopes = random(3, 4, 2), random(4)
    check(nn.relu, [x], np.where(x > 0, x, 0))
    check(lambda d: nn.leaky_relu(d, 0.1), [x], np.where(x > 0, x, 0.1 * x))
    check(nn.prelu, [x, slopes], np.where(x > 0, x, x * slopes[None, :, None]))


def test_bias_and_flatten_and_dropout() -> None:
    x, bias = random(3, 4, 2), random(4)
    check(nn.bias_add, [x, bias], x + bias[:, None])
    check(lambda d, b: nn.bias_add(d, b, axis=-1), [x, random(2)], x + random(2))
    check(nn.batch_flatten, [x], x.reshape(3, 8))
    _, mask = check(nn.dropout, [x], x)
    assert mask.min() == mask.max() == 1


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis: int) -> None:
    x = random(3, 4, 5)
    powers = np.exp(x.astype("float64"))
    wanted = powers / powers.sum(axis, keepdims=True)
    for each in (nn.softmax, nn.fast_softmax):
        check(lambda d, each=each: each(d, axis=axis), [x], wanted)
    check(lambda d: nn.log_softmax(d, axis=axis), [x], np.log(wanted))


def test_products_of_matrices() -> None:
    a, w = random(3, 4), random(5, 4)
    check(nn.dense, [a, w], a @ w.T)
    check(nn.dense, [random(2, 3, 4), w], random(2, 3, 4) @ w.T)
    check(lambda x, y: nn.dense(x, y, out_dtype="int32"), [random(3, 4, dtype="int8"), random(5, 4, dtype="int8")])
    check(lambda x, y: nn.matmul(x, y, transpose_a=True, transpose_b=True), [a, random(5, 3)], a.T @ random(5, 3).T)
    check(lambda x, y: nn.matmul(x, y, transpose_b=True), [a, w], a @ w.T)
    assert nn.matmul(relay.var("a", shape=(3, 4)), relay.var("w", shape=(5, 4)), transpose_b=True).op.name == "nn.dense"
    packed = np.ascontiguousarray(random(10, 3).reshape(5, 2, 3).transpose(0, 2, 1))
    for units in (10, 9):
        wanted = random(2, 3) @ random(10, 3)[:units].T
        check(lambda x, y, n=units: nn.contrib_dense_pack(x, y, "NC2n", n), [random(2, 3), packed], wanted)
    with pytest.raises(TypeInferenceError, match="units and the weight along N"):
        infer_expr(nn.contrib_dense_pack(relay.const(random(2, 3)), relay.const(packed), "NC2n", 8))


@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
def test_products_batch_by_batch(flags: tuple[bool, bool]) -> None:
    a, b = random(2, 3, 4), random(1, 4, 5)
    left, right = (np.ascontiguousarray(x.swapaxes(1, 2)) if f else x for x, f in zip((a, b), flags, strict=True))
    check(lambda x, y: nn.batch_matmul(x, y, transpose_a=flags[0], transpose_b=flags[1]), [left, right], a @ b)


def test_normalisations() -> None:
    x, (gamma, beta, mean) = random(2, 4, 3, 5), [random(4, seed=i) for i in range(3)]
    var = random(4, seed=9) ** 2
    c = (slice(None), None, None)
    wanted = (x - mean[c]) / np.sqrt(var[c] + 1e-5) * gamma[c] + beta[c]
    check(nn.batch_norm, [x, gamma, beta, mean, var], wanted)
    instance = (x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)
    check(nn.instance_norm, [x, gamma, beta], instance * gamma[c] + beta[c], 1e-4)
    check(lambda *a: nn.group_norm(*a, num_groups=4), [x, gamma, beta], instance * gamma[c] + beta[c], 1e-4)
    check(lambda *a: nn.group_norm(*a, num_groups=2), [x, gamma, beta], tolerance=1e-4)
    layer = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    check(lambda *a: nn.layer_norm(*a, axis=1), [x, gamma, beta], layer * gamma[c] + beta[c], 1e-4)


def test_normalisations_by_norms() -> None:
    x = random(2, 7, 3)
    check(lambda d: nn.l2_normalize(d, 1e-10, axis=1), [x], x / np.sqrt((x * x).sum(1, keepdims=True)))
    squares = np.stack([(x[:, max(0, i - 1) : i + 2] ** 2).sum(1) for i in range(7)], axis=1)
    check(lambda d: nn.lrn(d, size=3, alpha=0.3), [x], x / (2 + 0.1 * squares) ** 0.75)


def test_untyped_weights_follow_from_the_data() -> None:
    x = relay.var("x", shape=(1, 3, 8, 8))
    conv = nn.conv2d(x, relay.var("w"), channels=16, kernel_size=(3, 3), padding=(1, 1))
    assert infer_expr(conv) == relay.TensorType((1, 16, 8, 8))
    assert conv.args[1].checked_type == relay.TensorType((16, 3, 3, 3))
    norm = nn.batch_norm(x, *[relay.var(n) for n in ("gamma", "beta", "mean", "var")])
    assert infer_expr(norm[0]) == x.type_annotation
    assert norm.astuple().args[1].checked_type == relay.TensorType((3,))
    assert infer_expr(nn.dense(relay.var("a", shape=(2, 5)), relay.var("w"), units=7)) == relay.TensorType((2, 7))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x, w: nn.conv2d(x, w), "data has 3 channels, the weight takes 4"),
        (lambda x, w: nn.conv2d(x, w, channels=9), "9 and 5 differ"),
        (lambda x, w: nn.dense(x, w), "must have 2 dimensions"),
        (lambda x, w: nn.bias_add(x, w), "must have 1 dimension"),
        (lambda x, w: nn.softmax(x, axis=7), "axis must be at least -4 and less than 4, got 7"),
        (lambda x, w: nn.max_pool2d(x, 20), "must fit into"),
    ],
)
def test_types_that_do_not_go_together(make: Any, words: str) -> None:
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(5, 4, 3, 3))
    with pytest.raises(TypeInferenceError, match=words):
        infer_expr(make(x, w))


def test_a_symbolic_batch_stays() -> None:
    x, w = relay.var("x", shape=(relay.Any(), 3, 8, 8)), relay.var("w", shape=(5, 3, 3, 3))
    found = infer_expr(nn.batch_flatten(nn.max_pool2d(nn.conv2d(x, w), 2, 2)))
    assert isinstance(found.dims[0], relay.Any)
    assert found.dims[1] == 45
