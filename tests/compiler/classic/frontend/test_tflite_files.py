"""Files of TensorFlow Lite: a small quantized network, and what is said of damaged files and wrong inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.frontend.tflite import ModelError, UnsupportedOperatorError
from compiler.ir.error import ArgumentError, TVMError
from compiler.runtime.graph import graph_module

tflite = pytest.importorskip("tflite")
DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def network() -> bytes:
    """Two convolutions, a pool and a dense layer in int8, as TensorFlow 2.21 converted them."""
    return (DATA / "quantized.tflite").read_bytes()


def test_a_quantized_network_computes_what_its_interpreter_did(network: bytes) -> None:
    recorded = np.load(DATA / "quantized.npz")
    for source in (network, DATA / "quantized.tflite", str(DATA / "quantized.tflite"), tflite.Model.GetRootAs(network)):
        mod, params = relay.frontend.from_tflite(source)
        result = relay.create_executor("debug", mod=mod).evaluate()(recorded["x"], **params).numpy()
        assert result.dtype == np.int8
        assert np.abs(result.astype(int) - recorded["y"].astype(int)).max() <= 1


def test_a_quantized_network_is_built_with_blocked_layouts(network: bytes) -> None:
    recorded = np.load(DATA / "quantized.npz")
    mod, params = relay.frontend.from_tflite(network)
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, "llvm -mcpu=native", params=params)
    executor = graph_module.GraphModule(lib["default"](tvm.cpu(0)))
    executor.set_input(mod["main"].params[0].name_hint, recorded["x"])
    executor.run()
    assert np.abs(executor.get_output(0).numpy().astype(int) - recorded["y"].astype(int)).max() <= 1


def test_inputs_must_fit(network: bytes) -> None:
    (name,) = [p.name_hint for p in relay.frontend.from_tflite(network)[0]["main"].params][:1]
    with pytest.raises(ArgumentError, match=f"shape_dict names 'y', but the model's inputs are '{name}'"):
        relay.frontend.from_tflite(network, {"y": (1, 2)})
    with pytest.raises(ArgumentError, match=r"has 4 dimensions, shape_dict gives \(1, 2\)"):
        relay.frontend.from_tflite(network, {name: (1, 2)})
    with pytest.raises(ArgumentError, match="is int8, dtype_dict gives 'float32'"):
        relay.frontend.from_tflite(network, None, {name: "float32"})
    with pytest.raises(ArgumentError, match="model must be"):
        relay.frontend.from_tflite(3)


def test_other_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        relay.frontend.from_tflite(tmp_path / "none.tflite")
    with pytest.raises(
        ModelError, match=r"\(9 bytes\) is not a model of TensorFlow Lite: its bytes 4 to 7 must be 'TFL3'"
    ):
        relay.frontend.from_tflite(b"a picture")


def test_unknown_operators_are_named_together(network: bytes) -> None:
    model = tflite.Model.GetRootAs(network)
    code = model.OperatorCodes(0)
    unknown = bytearray(network)
    at = code._tab.Pos + code._tab.Offset(10)  # the newer of the two fields with the number of the operator
    unknown[at : at + 4] = (9999).to_bytes(4, "little")
    with pytest.raises(UnsupportedOperatorError, match="operator 9999"):
        relay.frontend.from_tflite(bytes(unknown))


def test_damage_is_always_a_clear_error(network: bytes) -> None:
    random = np.random.default_rng(0)
    for cut in range(8, len(network), len(network) // 25):
        with pytest.raises(TVMError, match="from_tflite"):
            relay.frontend.from_tflite(network[:cut])
    for _ in range(150):
        damaged = bytearray(network)
        for at in random.integers(8, len(damaged), 4):
            damaged[at] = int(random.integers(0, 256))
        try:
            relay.frontend.from_tflite(bytes(damaged))
        except TVMError as exc:
            assert "from_tflite" in str(exc)  # noqa: PT017
