"""Attention, masks and functions of ``keras.ops`` beside Keras itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.relay.frontend.shared.errors import ConversionError

os.environ.setdefault("KERAS_BACKEND", "torch")
pytest.importorskip("torch")
keras = pytest.importorskip("keras")

layers, ops = keras.layers, keras.ops
LONG, SHORT, IMAGE = (7, 6), (5, 6), (6, 5, 4)


def compare(build: Callable[..., Any], *shapes: tuple[int, ...], dtype: str = "float32", layout: str = "NHWC") -> None:
    """Build a model with random weights, import it, and compare its results with Keras's own."""
    random = np.random.default_rng(0)
    inputs = [keras.Input(shape, batch_size=2, dtype=dtype, name=f"x{i}") for i, shape in enumerate(shapes)]
    model = keras.Model(inputs, build(*inputs))
    for weight in model.weights:
        if "float" in weight.dtype:
            weight.assign(random.uniform(-0.6, 0.8, weight.shape).astype("float32"))
    if dtype == "float32":
        values = [random.normal(size=(2, *shape)).astype(dtype) for shape in shapes]
        for value in values:
            value[:, 2] = 0
    else:
        values = [random.integers(0, 3, (2, *shape)).astype(dtype) for shape in shapes]
    expected = [ops.convert_to_numpy(y) for y in keras.tree.flatten(model(values, training=False))]
    mod, params = relay.frontend.from_keras(model, layout=layout)
    turned = (lambda x: x.transpose(0, 3, 1, 2) if x.ndim == 4 else x) if layout == "NCHW" else (lambda x: x)
    computed = relay.create_executor("debug", mod=mod).evaluate()(*map(turned, values), **params)
    results = [computed] if hasattr(computed, "numpy") else list(computed)
    assert len(results) == len(expected)
    for result, reference in zip(results, expected, strict=True):
        assert result.dtype == reference.dtype
        np.testing.assert_allclose(result.numpy(), turned(reference), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ({"num_heads": 2, "key_dim": 3}, {}),
        ({"num_heads": 3, "key_dim": 4, "value_dim": 5, "output_shape": 4, "use_bias": False}, {}),
        ({"num_heads": 2, "key_dim": 3}, {"use_causal_mask": True}),
        ({"num_heads": 2, "key_dim": 3}, {"return_attention_scores": True}),
        ({"num_heads": 2, "key_dim": 3}, {"attention_mask": np.tri(7, 5, 1, dtype=bool)[None]}),
    ],
)
def test_attention_of_heads(options: dict[str, Any], given: dict[str, Any]) -> None:
    compare(lambda x, y: layers.MultiHeadAttention(**options)(x, y, **given), LONG, SHORT)


def test_attention_over_two_axes() -> None:
    compare(lambda x: layers.MultiHeadAttention(2, 3, attention_axes=(1, 2))(x, x), (3, 4, 5))


def test_attention_of_groups_of_heads() -> None:
    compare(lambda x: layers.GroupQueryAttention(4, 6, 2)(x, x, use_causal_mask=True), LONG)
    compare(lambda x, y: layers.GroupQueryAttention(3, 4, 4)(x, y), LONG, SHORT)


@pytest.mark.parametrize("options", [{}, {"use_scale": True}, {"use_scale": True, "score_mode": "concat"}])
def test_attention_of_single_tensors(options: dict[str, Any]) -> None:
    compare(lambda x, y: layers.Attention(**options)([x, y], return_attention_scores=True), LONG, SHORT)
    compare(lambda x: layers.Attention(**options)([x, x], use_causal_mask=True), LONG)


def test_attention_by_sums() -> None:
    compare(lambda x, y: layers.AdditiveAttention()([x, y]), LONG, SHORT)
    compare(lambda x, y, z: layers.AdditiveAttention(use_scale=False)([x, y, z]), LONG, (5, 3), SHORT)


MASKED: dict[str, Callable[[Any], Any]] = {
    "lstm": lambda e: layers.LSTM(4)(e),
    "gru_zeros": lambda e: layers.RNN(layers.GRUCell(4), return_sequences=True, zero_output_for_mask=True)(e),
    "backwards": lambda e: layers.SimpleRNN(4, go_backwards=True, return_sequences=True)(e),
    "bidirectional": lambda e: layers.Bidirectional(layers.GRU(3))(e),
    "average": lambda e: layers.GlobalAveragePooling1D()(e),
    "attention_of_heads": lambda e: layers.MultiHeadAttention(2, 3)(e, e),
    "attention": lambda e: layers.Attention()([e, e]),
    "normalised": lambda e: layers.LayerNormalization()(e),
}


@pytest.mark.parametrize("name", MASKED)
def test_steps_that_a_mask_leaves_out(name: str) -> None:
    compare(lambda x: MASKED[name](layers.Embedding(10, 6, mask_zero=True)(x)), (7,), dtype="int32")


def test_masks_of_layers_and_of_softmax() -> None:
    compare(lambda x: layers.LSTM(4)(layers.Masking()(x)), LONG)
    compare(lambda x, m: layers.Softmax()(x, mask=m > 0), LONG, LONG)


def test_masks_that_nothing_heeds_are_refused() -> None:
    inner = keras.Sequential([keras.Input((7, 6)), layers.LSTM(4)], name="inner")
    with pytest.raises(ConversionError, match="model 'inner' is called with a mask"):
        compare(lambda x: inner(layers.Embedding(10, 6, mask_zero=True)(x)), (7,), dtype="int32")


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "softmax_axis": lambda x: ops.softmax(x, axis=1),
    "concatenate_axis": lambda x: ops.concatenate([x, x * 2], axis=1),
    "relu_settings": lambda x: keras.activations.relu(x, negative_slope=0.1, max_value=2.0, threshold=0.3),
    "elementwise": lambda x: ops.sqrt(ops.abs(x) + 1) - ops.exp(-x) / 3 + ops.floor(x * 2) ** 2,
    "gelu": lambda x: keras.activations.gelu(x) + keras.activations.gelu(x, approximate=True),
    "mean": lambda x: x - ops.mean(x, axis=(1, 2), keepdims=True),
    "reductions": lambda x: ops.stack([ops.max(x, axis=1), ops.var(x, axis=1), ops.logsumexp(x, axis=1)], axis=-1),
    "argmax": lambda x: ops.argmax(x, axis=2),
    "comparisons": lambda x: ops.where((x > 0) & (x <= 1), x, 0.5),
    "parts": lambda x: x[:, 1:5:2, ..., None, -1],
    "moves": lambda x: ops.moveaxis(ops.flip(ops.roll(x, 2, axis=1), axis=2), 1, 3),
    "splits": lambda x: ops.split(x, [1, 3], axis=2),
    "pads": lambda x: ops.pad(x, ((0, 0), (1, 2), (0, 0), (3, 0)), constant_values=1.5),
    "taken": lambda x: ops.take(x, [3, -1], axis=1),
    "products": lambda x: ops.matmul(ops.transpose(x, (0, 1, 3, 2)), x),
    "einsum": lambda x: ops.einsum("abcd,abce->ade", x, x),
    "sorted": lambda x: ops.sort(x, axis=1) + ops.cumsum(x, axis=1),
    "top": lambda x: ops.top_k(x, 2)[0],
    "casts": lambda x: ops.cast(x * 3, "int32") + 1,
    "one_hot": lambda x: ops.one_hot(ops.cast(ops.clip(x, 0, 1) * 3, "int32"), 4),
    "resize": lambda x: ops.image.resize(x, (12, 7)),
    "convolution": lambda x: ops.conv(x, np.ones((3, 3, 4, 2), "float32"), 1, "same"),
}


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, layout: str) -> None:
    compare(FUNCTIONS[name], IMAGE, layout=layout)
