"""Operators of com.microsoft: each computes what ONNX Runtime's own kernel does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from compiler import relay
from compiler.relay.frontend.shared.errors import ConversionError, ModelError

Array = NDArray[Any]
_RNG = np.random.default_rng(0)


@dataclass(frozen=True)
class Case:
    """A node: its inputs by place, of which the first is the model's and None is left out, and its attributes.

    Attributes
    ----------
    step : float
        How far a result may be off: 1 for bytes, which are rounded after sums of another order.
    outputs : str
        Which of the outputs are compared: ``101`` for the first and the third.
    """

    operator: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    step: float = 2e-5
    outputs: str = "1"
    domain: str = "com.microsoft"


def real(*shape: int, low: float = -1.0) -> Array:
    return _RNG.uniform(low, 1, shape).astype("float32")


def codes(*shape: int, dtype: str = "uint8") -> Array:
    limits = np.iinfo(dtype)
    return _RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


def weights(*shape: int) -> Array:
    """Bytes of seven bits: without VNNI, ONNX Runtime adds products of two bytes in sixteen bits, which overflow."""
    return _RNG.integers(-64, 64, shape).astype("int8")


def scale(value: float) -> Array:
    return np.array(value, "float32")


def zero(value: int, dtype: str = "uint8") -> Array:
    return np.array(value, dtype)


def _unary(operator: str, x: Array, y: tuple[Array, Array | None], **attributes: Any) -> Case:
    return Case(operator, (x, scale(0.04), zero(100, str(x.dtype)), *y), attributes, 1)


_A = (codes(2, 3, 5), scale(0.03), zero(120))
_B = (codes(3, 1), scale(0.05), zero(131))
_IMAGE = codes(1, 4, 7, 6)
_WINDOW = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
_PART = (codes(2, 3), scale(0.02), zero(7))
_HIDDEN = real(2, 5, 8)
_QKV = (real(8, 24), real(24))
_MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 1, 1]], "int32")
_TABLE = real(10, 2)
_PER_WAY = (np.array([0.01, 0.02], "float32"), np.array([0, 3], "int8"))
_PER_COLUMN = (real(2, 20, low=0.5) / 50, np.zeros((2, 20), "int8"))
_CONV = (real(1, 3, 6, 5), real(4, 3, 3, 3))
_GROUPED = {"num_heads": 4, "kv_num_heads": 2}
_OTHERS = np.random.default_rng(1)


def _other(*shape: int) -> Array:
    return _OTHERS.uniform(-1, 1, shape).astype("float32")


def _tokens(batch: int, length: int, past: int = 0) -> tuple[Array | None, ...]:
    """Queries, keys and values of new tokens, and those of the cache."""
    heads = [_other(batch, 2, past, 16) if past else None for _ in range(2)]
    return _other(batch, length, 64), _other(batch, length, 32), _other(batch, length, 32), *heads


def _ends(*values: int, total: int) -> tuple[Array, Array]:
    """Where the last token of each sequence stands, and how many tokens the longest has."""
    return np.array(values, "int32"), np.array(total, "int32")


CASES: dict[str, Case] = {
    "add": Case("QLinearAdd", (*_A, *_B, scale(0.07), zero(128)), step=1),
    "add int8": Case(
        "QLinearAdd",
        (
            *(codes(4, 5, dtype="int8"), scale(0.1), zero(0, "int8"), codes(5, dtype="int8"), scale(0.2)),
            *(zero(-9, "int8"), scale(0.3), zero(4, "int8")),
        ),
        step=1,
    ),
    "multiply": Case("QLinearMul", (*_A, *_B, scale(0.05), zero(128)), step=1),
    "sigmoid": _unary("QLinearSigmoid", codes(3, 9), (scale(1 / 256), zero(0))),
    "leaky": _unary("QLinearLeakyRelu", codes(3, 9, dtype="int8"), (scale(0.05), zero(-3, "int8")), alpha=0.2),
    "pool": _unary("QLinearAveragePool", _IMAGE, (scale(0.03), zero(90)), **_WINDOW),
    "pool padding": _unary("QLinearAveragePool", _IMAGE, (scale(0.03), zero(90)), count_include_pad=1, **_WINDOW),
    "pool last": _unary("QLinearAveragePool", _IMAGE, (scale(0.03), zero(90)), channels_last=1, **_WINDOW),
    "whole": _unary("QLinearGlobalAveragePool", _IMAGE, (scale(0.02), zero(99)), channels_last=0),
    "whole last": _unary("QLinearGlobalAveragePool", _IMAGE, (scale(0.02), zero(99)), channels_last=1),
    "softmax": _unary("QLinearSoftmax", codes(3, 9), (scale(1 / 256), zero(0)), opset=13, axis=-1),
    "softmax of rows": _unary("QLinearSoftmax", codes(3, 2, 5), (scale(1 / 256), zero(0)), opset=11, axis=1),
    "concatenate": Case(
        "QLinearConcat", (codes(2, 4), scale(0.1), zero(3), *_PART), {"axis": 1, "result": (scale(0.05), zero(11))}, 1
    ),
    "where": Case("QLinearWhere", (np.eye(3, 5, dtype=bool), *_A, *_B, scale(0.06), zero(64)), step=1),
    "gemm": Case("QGemm", (*_PART, weights(3, 4), real(4, low=0.1), weights(4), None, scale(30), zero(50)), step=1),
    "real gemm": Case(
        "QGemm",
        (*(codes(3, 2), scale(0.02), zero(7), codes(4, 3), scale(0.1), zero(9)), np.arange(4, dtype="int32") * 1000),
        {"transA": 1, "transB": 1, "alpha": 0.5},
    ),
    "dynamic": Case(
        "DynamicQuantizeMatMul", (real(2, 3, 6), codes(6, 5), real(5, low=0.1), codes(5), real(5)), step=1e-4
    ),
    "dynamic without zero": Case("DynamicQuantizeMatMul", (real(4, 6), weights(6, 5), scale(0.1))),
    "integer to float": Case(
        "MatMulIntegerToFloat",
        (codes(2, 4, 6), weights(6, 5), scale(0.1), real(5), zero(20), weights(5), real(5)),
        step=1e-3,
    ),
    "quantize": Case("QuantizeLinear", (real(3, 4), scale(0.01), np.array(-5, "int16")), step=0),
    "dequantize": Case("DequantizeLinear", (codes(3, 4, dtype="uint16"), scale(0.01), np.array(900, "uint16"))),
    "four bits": Case(
        "MatMulNBits",
        (real(3, 40), codes(6, 3, 8), real(6, 3), codes(6, 2)),
        {"K": 40, "N": 6, "bits": 4, "block_size": 16},
        1e-4,
    ),
    "eight bits": Case(
        "MatMulNBits", (real(3, 32), codes(6, 2, 16), real(6, 2)), {"K": 32, "N": 6, "bits": 8, "block_size": 16}, 1e-3
    ),
    "convolution": Case(
        "FusedConv", (real(1, 3, 6, 5), real(4, 3, 3, 3), real(4)), {"activation": "Relu", "pads": [1, 1, 1, 1]}
    ),
    "convolution and sum": Case(
        "FusedConv", (real(1, 3, 6, 5), real(4, 3, 3, 3), real(4), real(1, 4, 4, 3)), {"activation": "Relu"}
    ),
    "leaky convolution": Case(
        "FusedConv", (real(1, 3, 6, 5), real(4, 3, 3, 3)), {"activation": "LeakyRelu", "activation_params": [0.3]}
    ),
    "clipped convolution": Case(
        "FusedConv", (real(1, 3, 6, 5), real(4, 3, 3, 3)), {"activation": "Clip", "activation_params": [-0.5, 0.75]}
    ),
    "fused gemm": Case(
        "FusedGemm",
        (real(3, 4), real(5, 4), real(5)),
        {"transB": 1, "beta": 0.5, "activation": "LeakyRelu", "activation_alpha": 0.2},
    ),
    "matmul": Case("FusedMatMul", (real(2, 4, 3), real(2, 5, 4)), {"transA": 1, "transB": 1, "alpha": 0.25}),
    "matmul of batches inside": Case(
        "FusedMatMul", (real(3, 2, 4), real(4, 2, 5)), {"transBatchA": 1, "transBatchB": 1}
    ),
    "gelu": Case("Gelu", (real(3, 5, low=-3),)),
    "bias gelu": Case("BiasGelu", (real(3, 5), real(5))),
    "fast gelu": Case("FastGelu", (real(3, 5), real(5)), step=1e-3),
    "fast gelu without bias": Case("FastGelu", (real(3, 5),), step=1e-3),
    "quick gelu": Case("QuickGelu", (real(3, 5),), {"alpha": 1.3}),
    "skip": Case(
        "SkipLayerNormalization", (_HIDDEN, real(2, 5, 8), real(8), real(8), real(8)), {"epsilon": 1e-5}, outputs="1001"
    ),
    "skip without beta": Case("SkipLayerNormalization", (_HIDDEN, real(5, 8), real(8))),
    "skip root": Case("SkipSimplifiedLayerNormalization", (_HIDDEN, real(2, 5, 8), real(8)), outputs="1001"),
    "root": Case("SimplifiedLayerNormalization", (_HIDDEN, real(8)), {"epsilon": 1e-3}, domain=""),
    "embedding": Case(
        "EmbedLayerNormalization",
        (
            *(_RNG.integers(0, 9, (2, 5)).astype("int32"), _RNG.integers(0, 2, (2, 5)).astype("int32")),
            *(real(9, 8), real(7, 8), real(2, 8), real(8), real(8), _MASK),
        ),
        outputs="11",
    ),
    "embedding at places": Case(
        "EmbedLayerNormalization",
        (
            *(_RNG.integers(0, 9, (2, 5)).astype("int32"), None, real(9, 8), real(7, 8), None, real(8), real(8), None),
            np.array([[6, 0, 1, 2, 3], [0, 1, 2, 3, 4]], "int32"),
        ),
        outputs="11",
    ),
    "attention": Case("Attention", (_HIDDEN, *_QKV), {"num_heads": 2}),
    "attention masked": Case("Attention", (_HIDDEN, *_QKV, _MASK), {"num_heads": 2, "scale": 0.3}),
    "attention ends": Case("Attention", (_HIDDEN, *_QKV, np.array([3, 5], "int32")), {"num_heads": 4}),
    "attention ends and starts": Case("Attention", (_HIDDEN, *_QKV, np.array([3, 5, 1, 0], "int32")), {"num_heads": 2}),
    "attention matrix mask": Case(
        "Attention",
        (_HIDDEN, *_QKV, _RNG.integers(0, 2, (2, 5, 5)).astype("int32"), None, real(1, 2, 5, 5)),
        {"num_heads": 2},
    ),
    "attention of sizes": Case(
        "Attention", (_HIDDEN, real(8, 20), real(20)), {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 4]}
    ),
    "attention with a past": Case(
        "Attention", (_HIDDEN, *_QKV, None, real(2, 2, 2, 3, 4)), {"num_heads": 2, "unidirectional": 1}, outputs="11"
    ),
    "heads": Case("MultiHeadAttention", (_HIDDEN, real(2, 6, 8), real(2, 6, 8), real(24)), {"num_heads": 2}),
    "heads masked": Case("MultiHeadAttention", (_HIDDEN, real(2, 5, 8), real(2, 5, 8), None, _MASK), {"num_heads": 2}),
    "heads of an encoder": Case("MultiHeadAttention", (_HIDDEN, real(2, 2, 6, 4), real(2, 2, 6, 4)), {"num_heads": 2}),
    "heads with a past": Case(
        "MultiHeadAttention",
        (_HIDDEN, real(2, 5, 8), real(2, 5, 8), None, None, real(1, 2, 5, 8), real(2, 2, 3, 4), real(2, 2, 3, 4)),
        {"num_heads": 2, "unidirectional": 1},
        outputs="111",
    ),
    "groups": Case(
        "GroupQueryAttention",
        (*_tokens(2, 5), *_ends(4, 4, total=5)),
        {**_GROUPED, "softcap": 0.5, "scale": 0.7},
        outputs="111",
    ),
    "groups in one input, turned": Case(
        "GroupQueryAttention",
        (_other(2, 1, 128), None, None, *_tokens(2, 1, 4)[3:], *_ends(4, 2, total=5), _other(10, 8), _other(10, 8)),
        {**_GROUPED, "do_rotary": 1},
        outputs="111",
    ),
    "groups that see a window": Case(
        "GroupQueryAttention",
        (*_tokens(1, 3, 4), *_ends(6, total=7), _other(10, 8), _other(10, 8)),
        {**_GROUPED, "do_rotary": 1, "rotary_interleaved": 1, "local_window_size": 3},
        outputs="111",
    ),
    "groups in a cache that is not full": Case(
        "GroupQueryAttention",
        (*_tokens(2, 1, 9), *_ends(5, 3, total=6)),
        {**_GROUPED, "smooth_softmax": 1},
        outputs="111",
    ),
    "groups with sinks, places and a bias": Case(
        "GroupQueryAttention",
        (
            *(*_tokens(1, 2, 3), *_ends(4, total=5), _other(10, 8), _other(10, 8)),
            *(np.array([[7, 8]], "int64"), _other(1, 1, 2, 5), _other(4)),
        ),
        {**_GROUPED, "do_rotary": 1},
        outputs="111",
    ),
    "lstm of bytes": Case(
        "DynamicQuantizeLSTM",
        (
            # Of several sequences ONNX Runtime gives each thread some, whose states have a scale of their own.
            *(real(3, 1, 4), weights(2, 4, 20), weights(2, 5, 20), real(2, 40), np.array([2], "int32")),
            *(real(2, 1, 5), real(2, 1, 5), real(2, 15), *_PER_WAY, *_PER_COLUMN),
        ),
        {"hidden_size": 5, "direction": "bidirectional"},
        outputs="111",
    ),
    "signal without an axis for its one part": Case(
        "STFT", (real(2, 16), np.array(4), real(8), np.array(8)), {"onesided": 1}, domain=""
    ),
    "rotary": Case(
        "RotaryEmbedding", (real(2, 5, 8), np.array([[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]], "int64"), _TABLE, _TABLE)
    ),
    "rotary pairs": Case(
        "RotaryEmbedding", (real(1, 2, 5, 4), np.array([3], "int64"), _TABLE, _TABLE), {"interleaved": 1}
    ),
    "attention of bytes": Case(
        "QAttention",
        (
            *(codes(2, 5, 8), weights(8, 24), real(24), scale(0.01), real(24, low=0.1) / 50),
            *(np.array([3, 5], "int32"), zero(120), weights(24)),
        ),
        {"num_heads": 2},
        1e-4,
    ),
    "attention of bytes with a past": Case(
        "QAttention",
        (
            *(codes(2, 5, 8), codes(8, 24), real(24), scale(0.01), scale(0.02), None, zero(120), zero(99)),
            real(2, 2, 2, 3, 4),
        ),
        {"num_heads": 2, "unidirectional": 1},
        1e-4,
        outputs="11",
    ),
}


def _model(case: Case) -> Any:
    inputs, attributes = list(case.inputs), dict(case.attributes)
    names = ["" if value is None else f"x{i}" for i, value in enumerate(inputs)]
    order = list(names)
    if "result" in attributes:  # these stand before the inputs
        added = attributes.pop("result")
        inputs += added
        names += ["scale", "zero"]
        order = ["scale", "zero", *order]
    outputs = [f"y{i}" if wanted == "1" else "" for i, wanted in enumerate(case.outputs)]
    node = helper.make_node(case.operator, order, outputs, name="it", domain=case.domain, **attributes)
    given = helper.make_tensor_value_info(
        names[0], helper.np_dtype_to_tensor_dtype(inputs[0].dtype), list(inputs[0].shape)
    )
    weights = [numpy_helper.from_array(v, n) for n, v in zip(names[1:], inputs[1:], strict=True) if v is not None]
    results = [helper.ValueInfoProto(name=name) for name in outputs if name]
    graph = helper.make_graph([node], "g", [given], results, weights)
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=domains, ir_version=9)


def _onnxruntime(model: Any, x: Array) -> list[Array]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [np.asarray(result) for result in session.run(None, {"x0": x})]


def _here(model: Any, x: Array) -> list[Array]:
    mod, _ = relay.frontend.from_onnx(model)
    result = relay.create_executor("debug", mod=mod).evaluate()(x)
    return [result.numpy()] if hasattr(result, "numpy") else [r.numpy() for r in result]


@pytest.mark.parametrize("name", CASES)
def test_operators_compute_what_onnx_runtime_does(name: str) -> None:
    case = CASES[name]
    model = _model(case)
    expected = _onnxruntime(model, case.inputs[0])
    results = _here(model, case.inputs[0])
    assert len(results) == len(expected) == case.outputs.count("1")
    for ours, theirs in zip(results, expected, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        if case.step == 1:
            off = np.abs(ours.astype(int) - theirs.astype(int))
            assert off.max() <= 1
            assert (off > 0).sum() <= max(1, off.size // 20)
            assert np.unique(theirs).size > 2
        else:
            np.testing.assert_allclose(ours, theirs, rtol=case.step, atol=case.step)


def test_matrices_of_sixteen_bits_are_multiplied_in_thirty_two() -> None:
    a, b = (_RNG.integers(-9000, 9000, shape).astype("int16") for shape in ((2, 3, 4), (4, 5)))
    (product,) = _here(_model(Case("MatMulInteger16", (a, b))), a)
    assert product.dtype == np.int32
    np.testing.assert_array_equal(product, a.astype("int32") @ b.astype("int32"))


@pytest.mark.parametrize(
    ("case", "error", "message"),
    [
        (Case("QLinearAdd", (*_A, None)), ModelError, r"'it' \(QLinearAdd\): input 3 \(B\) must be given"),
        (Case("Gelu", (real(2), real(2))), ModelError, "at most 1 inputs, got 2"),
        (Case("QLinearConcat", (codes(2), *_PART), {"axis": 0}), ModelError, "a tensor, a scale and a zero point"),
        (Case("Attention", (_HIDDEN, real(8, 24)), {"num_heads": 3}), ConversionError, "8 channels cannot be divided"),
        (Case("Attention", (_HIDDEN, real(8, 24))), ModelError, "attribute 'num_heads' must be given"),
        (Case("Attention", (real(5, 8), real(8, 24)), {"num_heads": 2}), ConversionError, "input must have 3 dim"),
        (
            Case("Attention", (_HIDDEN, real(8, 24)), {"num_heads": 2, "do_rotary": 1}),
            ConversionError,
            "do_rotary = 1 is not supported",
        ),
        (Case("MultiHeadAttention", (_HIDDEN,), {"num_heads": 2}), ConversionError, "key is left out"),
        (
            Case("GroupQueryAttention", (*_tokens(1, 2), *_ends(4, total=5)), _GROUPED),
            ConversionError,
            "total_sequence_length is 5; 0 tokens are in the cache, and 2 are added",
        ),
        (
            Case("GroupQueryAttention", (_other(1, 2, 12), *[None] * 4, *_ends(1, total=2)), _GROUPED),
            ConversionError,
            r"12 channels cannot be divided among 4 \+ 2 \* 2 heads",
        ),
        (Case("FusedConv", (*_CONV,), {"activation": "Abs"}), ConversionError, "the activation 'Abs' is not supported"),
        (
            Case("MatMulNBits", (real(3, 40), codes(6, 3, 8), real(6, 3)), {"K": 40, "N": 6, "bits": 3}),
            ModelError,
            "'block_size' must be given",
        ),
        (
            Case("SkipLayerNormalization", (_HIDDEN, _HIDDEN, real(8)), outputs="11"),
            ConversionError,
            r"output 1 \('y1'\) is not supported",
        ),
    ],
)
def test_what_does_not_fit_is_said_with_the_node(case: Case, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        relay.frontend.from_onnx(_model(case))
