"""Models of Keras as a whole: objects and files, their weights and names, and what is said of wrong ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.frontend.keras import ConversionError, ModelError, UnsupportedOperatorError
from compiler.ir.error import ArgumentError
from compiler.runtime.graph import graph_module

os.environ.setdefault("KERAS_BACKEND", "torch")


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"model must be a keras.Model or the path of a \.keras file, got 3"):
        relay.frontend.from_keras(3)
    with pytest.raises(ArgumentError, match="layout must be one of 'NCHW', 'NHWC', 'NDHWC', 'NWC', got 'CHW'"):
        relay.frontend.from_keras(3, layout="CHW")


pytest.importorskip("torch")
keras = pytest.importorskip("keras")
layers = keras.layers


@pytest.fixture(scope="module")
def network() -> Any:
    """A residual network of two blocks."""
    keras.utils.set_random_seed(3)
    x = image = keras.Input((12, 12, 3), name="image")
    for channels in (4, 8):
        x = layers.Conv2D(channels, 3, padding="same")(x)
        side = layers.BatchNormalization()(x)
        side = layers.SeparableConv2D(channels, 3, padding="same", activation="relu")(side)
        x = layers.MaxPooling2D()(layers.Add()([x, side]))
    x = layers.Dense(5, activation="softmax")(layers.GlobalAveragePooling2D()(x))
    return keras.Model(image, x, name="residual")


def run(mod: Any, params: Any, image: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, "llvm", params=params)
    executor = graph_module.GraphModule(lib["default"](tvm.cpu(0)))
    executor.run(image=image)
    return executor.get_output(0).numpy()


def test_a_network_is_built_in_both_layouts(network: Any) -> None:
    image = np.random.default_rng(0).random((2, 12, 12, 3)).astype("float32")
    expected = network.predict(image, verbose=0)
    for layout, shape, data in (
        ("NHWC", (2, 12, 12, 3), image),
        ("NCHW", (2, 3, 12, 12), np.ascontiguousarray(image.transpose(0, 3, 1, 2))),
    ):
        mod, params = relay.frontend.from_keras(network, {"image": shape}, layout)
        assert "transpose" not in str(mod)
        np.testing.assert_allclose(run(mod, params, data), expected, rtol=1e-4, atol=1e-6)


def test_weights_have_the_names_of_their_layers(network: Any) -> None:
    mod, params = relay.frontend.from_keras(network)
    names = [p.name_hint for p in mod["main"].params]
    assert names[0] == "image"
    assert set(names[1:]) == set(params)
    dense = network.layers[-1]
    np.testing.assert_array_equal(params[f"{dense.name}/kernel"].numpy(), dense.get_weights()[0].T)


def test_a_layer_that_is_called_twice_has_its_weights_once() -> None:
    x = keras.Input((6,))
    dense = layers.Dense(6)
    _, params = relay.frontend.from_keras(keras.Model(x, dense(dense(x))))
    assert set(params) == {f"{dense.name}/kernel", f"{dense.name}/bias"}


def test_a_file_is_read(network: Any, tmp_path: Path) -> None:
    network.save(tmp_path / "model.keras")
    image = np.random.default_rng(1).random((1, 12, 12, 3)).astype("float32")
    mod, params = relay.frontend.from_keras(tmp_path / "model.keras", layout="NHWC")
    np.testing.assert_allclose(run(mod, params, image), network.predict(image, verbose=0), rtol=1e-4, atol=1e-6)


def test_a_damaged_file_is_named(network: Any, tmp_path: Path) -> None:
    network.save(tmp_path / "model.keras")
    data = (tmp_path / "model.keras").read_bytes()
    for cut in (0, 100, len(data) // 2, len(data) - 1):
        (tmp_path / "cut.keras").write_bytes(data[:cut])
        with pytest.raises(ModelError, match=r"from_keras: '.*cut.keras' cannot be read"):
            relay.frontend.from_keras(tmp_path / "cut.keras")
    with pytest.raises(ModelError, match="cannot be read"):
        relay.frontend.from_keras(tmp_path / "none.keras")


def test_a_cut_off_archive_is_not_reported_as_missing(network: Any, tmp_path: Path) -> None:
    path = tmp_path / "cut.keras"
    network.save(path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ModelError, match=r"cut\.keras' cannot be read: a \.keras file is a zip archive"):
        relay.frontend.from_keras(str(path))


def test_arguments_must_fit(network: Any) -> None:
    with pytest.raises(ArgumentError, match="shape names 'y', but the model's inputs are 'image'"):
        relay.frontend.from_keras(network, {"y": (1,)})
    with pytest.raises(ArgumentError, match=r"'image' has 4 dimensions, shape gives \(1, 2\)"):
        relay.frontend.from_keras(network, {"image": (1, 2)})


def test_layers_that_nothing_converts_are_named_together() -> None:
    x = keras.Input((4, 4), name="x")
    y = layers.Hashing(5, name="hash")(layers.Solarization(name="sun")(x))
    with pytest.raises(UnsupportedOperatorError, match=r"\['Hashing', 'Solarization'\]\n.*'hash'\n.*'sun'"):
        relay.frontend.from_keras(keras.Model(x, y))


def test_a_layer_that_is_beyond_it_is_named() -> None:
    x = keras.Input((6, 6, 1), name="x")
    model = keras.Model(x, layers.UpSampling2D(2, interpolation="bicubic", name="up")(x))
    with pytest.raises(
        ConversionError, match=r"layer 'up' \(UpSampling2D\): interpolation must be nearest or bilinear"
    ):
        relay.frontend.from_keras(model)


def test_a_model_without_a_graph_is_refused() -> None:
    class Own(keras.Model):
        def call(self, x: Any) -> Any:
            return x

    with pytest.raises(ModelError, match="has no graph of layers: expected a built functional or sequential"):
        relay.frontend.from_keras(Own(name="own"))
