"""Frozen graphs of TensorFlow: a small network, and what is said of damaged files and wrong arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.classic.frontend.tensorflow import ConversionError, ModelError, UnsupportedOperatorError
from compiler.classic.frontend.tensorflow.messages import GraphDef
from compiler.ir.error import ArgumentError, TVMError

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def network() -> bytes:
    """Two convolutions, a pool and a dense layer, as TensorFlow 2.21 froze them."""
    return (DATA / "frozen.pb").read_bytes()


def graph_of(*nodes: tuple[str, str, list[str]]) -> Any:
    graph = GraphDef()
    for name, operator, inputs in nodes:
        graph.node.add(name=name, op=operator, input=inputs)
    return graph


def test_a_network_computes_what_tensorflow_did(network: bytes) -> None:
    recorded = np.load(DATA / "frozen.npz")
    graph = GraphDef()
    graph.ParseFromString(network)
    for source in (network, DATA / "frozen.pb", str(DATA / "frozen.pb"), graph):
        mod, params = relay.frontend.from_tensorflow(source, shape={"image": (1, 12, 12, 3)})
        assert mod["main"].params[0].name_hint == "image"
        assert set(params) >= {"Conv2D/filter", "MatMul/b"}
        result = relay.create_executor("debug", mod=mod).evaluate()(recorded["x"], **params)
        np.testing.assert_allclose(result.numpy(), recorded["y"], rtol=1e-4, atol=1e-6)


def test_outputs_are_chosen_by_name(network: bytes) -> None:
    mod, _ = relay.frontend.from_tensorflow(network, outputs=["Relu6", "Softmax:0"])
    first, second = mod["main"].ret_type.fields
    assert [tuple(map(int, t.shape)) for t in (first, second)] == [(1, 6, 6, 8), (1, 4)]


def test_arguments_must_fit(network: bytes) -> None:
    with pytest.raises(ArgumentError, match="outputs names 'z', which is not a node"):
        relay.frontend.from_tensorflow(network, outputs=["z"])
    with pytest.raises(ArgumentError, match="shape names 'y', but the graph's inputs are 'image'"):
        relay.frontend.from_tensorflow(network, shape={"y": (1,)})
    with pytest.raises(ArgumentError, match="'image' has 4 dimensions, shape gives"):
        relay.frontend.from_tensorflow(network, shape={"image": (1, 2)})
    with pytest.raises(ArgumentError, match="layout must be 'NHWC' or 'NCHW', got 'CHWN'"):
        relay.frontend.from_tensorflow(network, layout="CHWN")
    with pytest.raises(ArgumentError, match="graph must be a GraphDef"):
        relay.frontend.from_tensorflow(3)


def test_other_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        relay.frontend.from_tensorflow(tmp_path / "none.pb")
    with pytest.raises(ModelError, match=r"\(9 bytes\) is not a frozen graph of TensorFlow"):
        relay.frontend.from_tensorflow(b"a picture")


def test_contradictions_name_the_node() -> None:
    with pytest.raises(ModelError, match="node 'y' takes 'x', which no node defines"):
        relay.frontend.from_tensorflow(graph_of(("y", "Relu", ["x"])))
    with pytest.raises(ModelError, match="two nodes of the graph have the same name"):
        relay.frontend.from_tensorflow(graph_of(("y", "Relu", ["y"]), ("y", "Relu", ["y"])))
    with pytest.raises(ModelError, match=r"the graph has a cycle: '[ab]'"):
        relay.frontend.from_tensorflow(graph_of(("a", "Relu", ["b"]), ("b", "Relu", ["a"]), ("c", "Relu", ["a"])))
    with pytest.raises(ArgumentError, match="does not specify the shape of input 'x': give `shape`"):
        relay.frontend.from_tensorflow(graph_of(("x", "Placeholder", []), ("y", "Relu", ["x"])))
    wrong = graph_of(("x", "Placeholder", []), ("y", "MatMul", ["x", "x"]))
    with pytest.raises(ConversionError, match=r"node 'y' \(MatMul\)"):
        relay.frontend.from_tensorflow(wrong, shape={"x": (2, 3)})
    unknown = graph_of(("x", "Placeholder", []), ("y", "Svd", ["x"]), ("z", "Qr", ["y"]))
    with pytest.raises(UnsupportedOperatorError, match=r"\['Qr', 'Svd'\]\n  Qr: 'z'\n  Svd: 'y'"):
        relay.frontend.from_tensorflow(unknown)


def test_an_element_that_stands_for_many_is_bounded() -> None:
    graph = graph_of(("c", "Const", []), ("y", "Neg", ["c"]))
    tensor = graph.node[0].attr.add(key="value").value.tensor
    tensor.dtype = 1
    tensor.float_val.append(1)
    tensor.tensor_shape.dim.add(size=1 << 30)
    with pytest.raises(ConversionError, match=r"node 'c' \(Const\): it needs a constant of 1,073,741,824 elements"):
        relay.frontend.from_tensorflow(graph)


def test_damage_is_always_a_clear_error(network: bytes) -> None:
    random = np.random.default_rng(0)
    for cut in range(1, len(network), len(network) // 25):
        with pytest.raises(TVMError, match="from_tensorflow"):
            relay.frontend.from_tensorflow(network[:cut], outputs=["Softmax"])
    for _ in range(150):
        damaged = bytearray(network)
        for at in random.integers(0, len(damaged), 4):
            damaged[at] = int(random.integers(0, 256))
        try:
            relay.frontend.from_tensorflow(bytes(damaged))
        except TVMError as exc:
            assert "from_tensorflow" in str(exc)  # noqa: PT017
