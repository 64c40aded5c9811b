"""Layers of Keras beside Keras itself, in both layouts."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from compiler import relay

os.environ.setdefault("KERAS_BACKEND", "torch")
pytest.importorskip("torch")
keras = pytest.importorskip("keras")
from keras.src.applications.convnext import LayerScale  # noqa: E402

layers = keras.layers

SEQUENCE, IMAGE, VOLUME, ROW = (7, 5), (9, 8, 3), (5, 6, 4, 3), (6,)


@dataclass(frozen=True)
class Case:
    """What a model makes of its inputs, and their shapes without the batch."""

    build: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


def layer(name: str, shape: tuple[int, ...], *args: Any, **options: Any) -> Case:
    """Return a model of one layer."""
    return Case(lambda x: getattr(layers, name)(*args, **options)(x), (shape,))


def merged(name: str, shape: tuple[int, ...] = IMAGE, count: int = 2, **options: Any) -> Case:
    return Case(lambda *xs: getattr(layers, name)(**options)(list(xs)), (shape,) * count)


def with_states(x: Any) -> Any:
    output, h, c = layers.LSTM(4, return_sequences=True, return_state=True)(x)
    return output, layers.LSTM(4)(output, initial_state=[h, c])


def learned_statistics(x: Any) -> Any:
    learning = layers.Normalization()
    learning.adapt(np.random.default_rng(0).normal(1.0, 3.0, (20, *ROW)))
    return learning(x)


def nested(x: Any) -> Any:
    inner = keras.Sequential([keras.Input(IMAGE), layers.Conv2D(3, 3, padding="same"), layers.ReLU()], name="inner")
    return layers.Add()([inner(inner(x)), x])


def shared(x: Any) -> Any:
    dense = layers.Dense(6, activation="tanh")
    return dense(dense(x)) * 2.0 + x


ACTIVATIONS = (
    *("relu", "relu6", "leaky_relu", "elu", "celu", "selu", "sigmoid", "hard_sigmoid", "tanh", "hard_tanh", "linear"),
    *("exponential", "softplus", "softsign", "log_sigmoid", "silu", "hard_silu", "gelu", "mish", "softmax"),
    "log_softmax",
)
CASES: dict[str, Case] = {
    **{name: layer("Activation", IMAGE, name) for name in ACTIVATIONS},
    "relu_bounds": layer("ReLU", IMAGE, max_value=1.0, negative_slope=0.1, threshold=0.25),
    "leaky_relu_layer": layer("LeakyReLU", IMAGE, negative_slope=0.2),
    "prelu": layer("PReLU", IMAGE, alpha_initializer="random_uniform"),
    "prelu_shared": layer("PReLU", IMAGE, alpha_initializer="random_uniform", shared_axes=(1, 2)),
    "elu_layer": layer("ELU", IMAGE, alpha=0.5),
    "softmax_axis": layer("Softmax", IMAGE, axis=1),
    "layer_as_activation": layer("Dense", ROW, 4, activation=layers.LeakyReLU(negative_slope=0.4)),
    "dense": layer("Dense", ROW, 4, activation="relu"),
    "dense_of_images": layer("Dense", IMAGE, 5, use_bias=False),
    "conv1d": layer("Conv1D", SEQUENCE, 4, 3, strides=2, padding="same"),
    "conv1d_causal": layer("Conv1D", SEQUENCE, 4, 3, dilation_rate=2, padding="causal"),
    "conv2d": layer("Conv2D", IMAGE, 4, (3, 2), strides=(2, 1), padding="same", activation="relu"),
    "conv2d_valid": layer("Conv2D", IMAGE, 4, 3, use_bias=False),
    "conv2d_dilated": layer("Conv2D", IMAGE, 4, 3, dilation_rate=2, padding="same"),
    "conv2d_groups": layer("Conv2D", (8, 8, 4), 6, 3, groups=2),
    "conv3d": layer("Conv3D", VOLUME, 4, 3, padding="same"),
    "conv1d_transpose": layer("Conv1DTranspose", SEQUENCE, 4, 3, strides=2, padding="same"),
    "conv2d_transpose": layer("Conv2DTranspose", IMAGE, 4, 3, strides=2, padding="same", activation="relu"),
    "conv2d_transpose_even": layer("Conv2DTranspose", IMAGE, 4, 4, strides=2, padding="same"),
    "conv2d_transpose_valid": layer("Conv2DTranspose", IMAGE, 4, 2, strides=3),
    "conv3d_transpose": layer("Conv3DTranspose", VOLUME, 2, 3, strides=2),
    "depthwise": layer("DepthwiseConv2D", IMAGE, 3, depth_multiplier=2, padding="same"),
    "depthwise1d": layer("DepthwiseConv1D", SEQUENCE, 3, strides=2),
    "separable": layer("SeparableConv2D", IMAGE, 4, 3, padding="same", activation="relu"),
    "separable1d": layer("SeparableConv1D", SEQUENCE, 4, 3),
    "max_pool1d": layer("MaxPooling1D", SEQUENCE, 2),
    "max_pool2d": layer("MaxPooling2D", IMAGE, 3, strides=2, padding="same"),
    "max_pool3d": layer("MaxPooling3D", VOLUME, 2),
    "avg_pool1d": layer("AveragePooling1D", SEQUENCE, 2),
    "avg_pool2d": layer("AveragePooling2D", IMAGE, (2, 3), strides=(2, 1)),
    "avg_pool3d": layer("AveragePooling3D", VOLUME, 2),
    **{
        f"global_{kind.lower()}{count}d": layer(f"Global{kind}Pooling{count}D", shape)
        for kind in ("Max", "Average")
        for count, shape in ((1, SEQUENCE), (2, IMAGE), (3, VOLUME))
    },
    "global_keepdims": layer("GlobalAveragePooling2D", IMAGE, keepdims=True),
    "padding1d": layer("ZeroPadding1D", SEQUENCE, (1, 2)),
    "padding2d": layer("ZeroPadding2D", IMAGE, ((1, 0), (2, 3))),
    "padding3d": layer("ZeroPadding3D", VOLUME, (1, 2, 0)),
    "cropping1d": layer("Cropping1D", SEQUENCE, (1, 2)),
    "cropping2d": layer("Cropping2D", IMAGE, ((1, 0), (2, 3))),
    "cropping3d": layer("Cropping3D", VOLUME, 1),
    "up_sampling1d": layer("UpSampling1D", SEQUENCE, 3),
    "up_sampling2d": layer("UpSampling2D", IMAGE, (2, 3)),
    "up_sampling2d_bilinear": layer("UpSampling2D", IMAGE, 2, interpolation="bilinear"),
    "up_sampling3d": layer("UpSampling3D", VOLUME, 2),
    "batch_norm": layer("BatchNormalization", IMAGE),
    "batch_norm_rows": layer("BatchNormalization", ROW, scale=False, epsilon=0.01),
    "batch_norm_axis": layer("BatchNormalization", IMAGE, axis=1, center=False),
    "layer_norm": layer("LayerNormalization", IMAGE),
    "layer_norm_sequence": layer("LayerNormalization", SEQUENCE, center=False),
    "rescaling": layer("Rescaling", IMAGE, 1 / 127.5, offset=-1),
    "normalization": layer("Normalization", IMAGE, mean=[0.1, -0.5, 2.0], variance=[1.0, 4.0, 0.0]),
    "normalization_inverted": layer("Normalization", IMAGE, axis=None, mean=0.5, variance=4.0, invert=True),
    "normalization_learned": Case(learned_statistics, (ROW,)),
    "layer_scale": Case(lambda x: LayerScale(0.5, 3)(x) + 1.0, (IMAGE,)),
    "flatten": layer("Flatten", IMAGE),
    "flatten_volume": layer("Flatten", VOLUME),
    "reshape": layer("Reshape", IMAGE, (4, 9, 6)),
    "reshape_rows": layer("Reshape", IMAGE, (-1, 3)),
    "permute": layer("Permute", IMAGE, (2, 3, 1)),
    "repeat_vector": layer("RepeatVector", ROW, 3),
    "dropout": layer("Dropout", ROW, 0.5),
    "embedding": Case(lambda x: layers.Embedding(4, 3)(x), ((5,),)),
    "time_distributed": Case(lambda x: layers.TimeDistributed(layers.Conv2D(4, 3))(x), ((2, *IMAGE),)),
    "time_distributed_dense": Case(lambda x: layers.TimeDistributed(layers.Dense(4))(x), (SEQUENCE,)),
    **{name.lower(): merged(name) for name in ("Add", "Subtract", "Multiply", "Maximum", "Minimum", "Average")},
    "add_three": merged("Add", count=3),
    "concatenate": merged("Concatenate"),
    "concatenate_rows": merged("Concatenate", axis=1),
    "dot": merged("Dot", ROW, axes=1),
    "dot_normalized": merged("Dot", ROW, axes=-1, normalize=True),
    "dot_matrices": Case(lambda a, b: layers.Dot(axes=(2, 1))([a, b]), ((4, 5), (5, 3))),
    **{
        f"{name}_{what}": layer(name, SEQUENCE, 4, **options)
        for name in ("SimpleRNN", "GRU", "LSTM")
        for what, options in {
            "last": {},
            "sequences": {"return_sequences": True, "use_bias": False},
            "backwards": {"go_backwards": True, "return_sequences": True, "activation": "relu"},
        }.items()
    },
    "gru_before": layer("GRU", SEQUENCE, 4, reset_after=False),
    "lstm_states": Case(with_states, (SEQUENCE,)),
    **{
        f"bidirectional_{mode}": Case(
            lambda x, mode=mode: layers.Bidirectional(layers.GRU(3, return_sequences=True), merge_mode=mode)(x),
            (SEQUENCE,),
        )
        for mode in ("concat", "sum", "mul", "ave", None)
    },
    "nested": Case(nested, (IMAGE,)),
    **{
        f"conv_lstm{count}d": Case(lambda x, count=count: getattr(layers, f"ConvLSTM{count}D")(2, 2)(x), (shape,))
        for count, shape in ((1, (3, 5, 2)), (2, (3, 5, 4, 2)), (3, (2, 4, 3, 3, 2)))
    },
    "conv_lstm_sequences": layer(
        "ConvLSTM2D",
        (3, 6, 5, 2),
        2,
        (2, 3),
        strides=2,
        padding="same",
        return_sequences=True,
        go_backwards=True,
        use_bias=False,
    ),
    "cell_lstm": Case(lambda x: layers.RNN(layers.LSTMCell(4), return_sequences=True)(x), (SEQUENCE,)),
    "cells_stacked": Case(
        lambda x: layers.RNN([layers.GRUCell(4), layers.LSTMCell(3), layers.SimpleRNNCell(2)])(x), (SEQUENCE,)
    ),
    "conv2d_transpose_more": layer("Conv2DTranspose", IMAGE, 4, 3, strides=2, padding="same", output_padding=1),
    "conv2d_transpose_dilated": layer("Conv2DTranspose", IMAGE, 4, 2, dilation_rate=2),
    "adaptive_pool": layer("AdaptiveAveragePooling2D", IMAGE, (4, 3)),
    "group_norm": layer("GroupNormalization", (5, 4, 6), groups=3),
    "group_norm_axis": layer("GroupNormalization", (6, 4, 5), groups=2, axis=1, scale=False),
    "unit_norm": layer("UnitNormalization", IMAGE, axis=(1, 3)),
    "rms_norm": layer("RMSNormalization", IMAGE),
    "layer_norm_axes": layer("LayerNormalization", IMAGE, axis=[1, 2, 3]),
    "spectral_norm": Case(lambda x: layers.SpectralNormalization(layers.Conv2D(4, 3))(x), (IMAGE,)),
    "softmax_axes": layer("Softmax", IMAGE, axis=(1, 2)),
    "einsum_dense": layer("EinsumDense", SEQUENCE, "abx,xyz->abyz", output_shape=(None, 2, 3), bias_axes="yz"),
    "resizing": layer("Resizing", IMAGE, 12, 5),
    "resizing_nearest": layer("Resizing", IMAGE, 6, 10, interpolation="nearest"),
    "resizing_cropped": layer("Resizing", IMAGE, 4, 4, crop_to_aspect_ratio=True),
    "center_crop": layer("CenterCrop", IMAGE, 5, 4),
    "random_flip": layer("RandomFlip", IMAGE),
    "discretization": layer("Discretization", ROW, bin_boundaries=[-1.0, 0.0, 1.0]),
    "category_encoding": Case(lambda x: layers.CategoryEncoding(4, output_mode="multi_hot")(x), ((5,),)),
    "shared": Case(shared, (ROW,)),
}


def model_of(case: Case) -> Any:
    """Return a model whose weights, biases and statistics are all random."""
    keras.utils.set_random_seed(1)
    inputs = [keras.Input(shape, batch_size=2, name=f"x{i}") for i, shape in enumerate(case.shapes)]
    model = keras.Model(inputs, case.build(*inputs))
    random = np.random.default_rng(2)
    for weight in model.weights:
        if "float" in weight.dtype:
            weight.assign(random.uniform(0.1 if "variance" in weight.name else -1, 1, weight.shape).astype("float32"))
    return model


def first(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return x.transpose(0, 3, 1, 2) if x.ndim == 4 else x


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("name", CASES)
def test_layer_computes_what_keras_does(name: str, layout: str) -> None:
    case = CASES[name]
    model = model_of(case)
    random = np.random.default_rng(0)
    inputs = [
        random.uniform(0 if name in ("embedding", "category_encoding") else -2, 2, (2, *shape)).astype("float32")
        for shape in case.shapes
    ]
    expected = model(inputs, training=False)
    expected = [
        keras.ops.convert_to_numpy(y) for y in (expected if isinstance(expected, (list, tuple)) else [expected])
    ]
    mod, params = relay.frontend.from_keras(model, layout=layout)
    turned = first if layout == "NCHW" else np.asarray
    computed = relay.create_executor("debug", mod=mod).evaluate()(*map(turned, inputs), **params)
    results = [computed] if hasattr(computed, "numpy") else list(computed)
    assert len(results) == len(expected)
    for result, reference in zip(results, expected, strict=True):
        np.testing.assert_allclose(result.numpy(), turned(reference), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["SimpleRNN", "GRU", "LSTM"])
def test_a_recurrent_layer_is_one_operator_however_long_it_is(name: str) -> None:
    model = model_of(Case(lambda x: getattr(layers, name)(4)(x), ((1500, 5),)))
    text = relay.frontend.from_keras(model)[0].astext()
    assert text.count("nn.recurrent(") == 1
    assert text.count("nn.dense(") == 1
