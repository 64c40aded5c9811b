"""Single operators of ONNX, one thread, beside onnxruntime in the same run.

    python -m tests.benchmarks.operators [PART OF A NAME …] [--seconds N] [--mcpu CPU]

The two take turns, for so many seconds an operator (1); the least processor time of a call of each is printed.  Results
are compared as well: rtol and atol 1e-3.  An operator whose shapes depend on values runs in the virtual machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from compiler.runtime.numpy_types import NumPyArray
from compiler.runtime.parallel.threads import set_num_threads
from tests.benchmarks.relay_latency import ours, theirs

_TURNS, _SHORTEST = 8, 2e-3
"""Turns of each, and seconds of calls that are timed together."""
_RNG = np.random.default_rng(0)


class Case(NamedTuple):
    """An operator on some inputs; the last ``known`` of them are constants of the model."""

    op: str
    inputs: tuple[NumPyArray, ...]
    known: int
    attributes: dict[str, Any]
    outputs: int = 1


def _case(op: str, *inputs: NumPyArray, known: int = 0, outputs: int = 1, **attributes: Any) -> Case:
    return Case(op, inputs, known, attributes, outputs)


def _f(*shape: int) -> NumPyArray:
    """Return normal numbers."""
    return _RNG.standard_normal(shape).astype("float32")


def _i(low: int, high: int, *shape: int) -> NumPyArray:
    """Return whole numbers of a range, without its end."""
    return _RNG.integers(low, high, shape)


def _at(*values: int) -> NumPyArray:
    return np.array(values, "int64")


def _scalar(value: float, dtype: str = "float32") -> NumPyArray:
    return np.array(value, dtype)


_NONE = np.array([], "float32")
_DOUBLE = np.array([1, 1, 2, 2], "float32")
_BYTES = (_scalar(0.05), _scalar(128, "uint8"))
_BORDER: dict[str, Any] = {"pads": [1, 1, 1, 1]}

CASES = {
    "convolution 3x3 of 64, 56x56": _case("Conv", _f(1, 64, 56, 56), _f(64, 64, 3, 3), known=1, **_BORDER),
    "convolution 1x1 of 256, 14x14": _case("Conv", _f(1, 256, 14, 14), _f(256, 256, 1, 1), known=1),
    "convolution 7x7/2 of 3, 224x224": _case(
        "Conv", _f(1, 3, 224, 224), _f(64, 3, 7, 7), known=1, pads=[3, 3, 3, 3], strides=[2, 2]
    ),
    "depthwise 3x3 of 96, 56x56": _case("Conv", _f(1, 96, 56, 56), _f(96, 1, 3, 3), known=1, group=96, **_BORDER),
    "convolution in groups of 32, 28x28": _case(
        "Conv", _f(1, 128, 28, 28), _f(128, 32, 3, 3), known=1, group=4, **_BORDER
    ),
    "convolution of 1024 samples": _case("Conv", _f(1, 64, 1024), _f(64, 64, 5), known=1, pads=[2, 2]),
    "convolution of 16x32x32": _case("Conv", _f(1, 16, 16, 32, 32), _f(32, 16, 3, 3, 3), known=1, pads=[1] * 6),
    "transposed convolution 4x4/2": _case(
        "ConvTranspose", _f(1, 64, 28, 28), _f(64, 32, 4, 4), known=1, strides=[2, 2], **_BORDER
    ),
    "product 128x768x3072": _case("MatMul", _f(128, 768), _f(768, 3072), known=1),
    "product of a row, 1024x1024": _case("MatMul", _f(1, 1024), _f(1024, 1024), known=1),
    "gemm 128x768x3072, transposed": _case("Gemm", _f(128, 768), _f(3072, 768), _f(3072), known=2, transB=1),
    "product 512x512x512, no weight": _case("MatMul", _f(512, 512), _f(512, 512)),
    "products 12x128x64x128": _case("MatMul", _f(12, 128, 64), _f(12, 64, 128)),
    # weights of 7 bits: without VNNI onnxruntime saturates sums of two products at 16 bits
    "products of bytes 128x768x768": _case(
        "MatMulInteger", _i(0, 255, 128, 768).astype("uint8"), _i(-64, 64, 768, 768).astype("int8"), known=1
    ),
    "einsum bij,bjk->bik": _case("Einsum", _f(12, 128, 64), _f(12, 64, 128), equation="bij,bjk->bik"),
    "softmax of 128x768": _case("Softmax", _f(128, 768), axis=-1),
    "softmax of 8x50257": _case("Softmax", _f(8, 50257), axis=-1),
    "softmax over channels": _case("Softmax", _f(4, 64, 28, 28), axis=1),
    "log softmax of 128x1000": _case("LogSoftmax", _f(128, 1000), axis=-1),
    "layer norm of 128x768": _case("LayerNormalization", _f(128, 768), _f(768), _f(768), known=2, axis=-1),
    "instance norm of 64x56x56": _case("InstanceNormalization", _f(1, 64, 56, 56), _f(64), _f(64), known=2),
    "group norm of 64x56x56": _case("GroupNormalization", _f(1, 64, 56, 56), _f(64), _f(64), known=2, num_groups=8),
    "batch norm of 64x56x56": _case(
        "BatchNormalization", _f(1, 64, 56, 56), _f(64), _f(64), _f(64), np.abs(_f(64)) + np.float32(0.1), known=4
    ),
    "local response norm": _case("LRN", _f(1, 64, 28, 28), size=5),
    "GELU of 128x3072": _case("Gelu", _f(128, 3072)),
    "erf of 128x3072": _case("Erf", _f(128, 3072)),
    "tanh of 128x3072": _case("Tanh", _f(128, 3072)),
    "sigmoid of 128x3072": _case("Sigmoid", _f(128, 3072)),
    "exp of 128x3072": _case("Exp", _f(128, 3072)),
    "log of 128x3072": _case("Log", np.abs(_f(128, 3072)) + np.float32(0.1)),
    "sin of 128x3072": _case("Sin", _f(128, 3072)),
    "power of 128x3072": _case("Pow", np.abs(_f(128, 3072)) + np.float32(0.1), _scalar(1.7), known=1),
    "sum with channels": _case("Add", _f(64, 56, 56), _f(64, 1, 1)),
    "mean of three": _case("Mean", _f(64, 56, 56), _f(64, 56, 56), _f(64, 56, 56)),
    "relu of 64x56x56": _case("Relu", _f(64, 56, 56)),
    "PReLU of 64x56x56": _case("PRelu", _f(1, 64, 56, 56), _f(64, 1, 1), known=1),
    "clip of 64x56x56": _case("Clip", _f(64, 56, 56), _scalar(0), _scalar(6), known=2),
    "hard swish of 64x56x56": _case("HardSwish", _f(64, 56, 56)),
    "where of 128x3072": _case("Where", _f(128, 3072) > 0, _f(128, 3072), _f(128, 3072)),
    "cast to float16": _case("Cast", _f(64, 56, 56), to=int(TensorProto.FLOAT16)),
    "cast to int8": _case("Cast", _f(64, 56, 56) * 50, to=int(TensorProto.INT8)),
    "quantize 64x56x56": _case("QuantizeLinear", _f(64, 56, 56), *_BYTES, known=2),
    "dequantize 64x56x56": _case("DequantizeLinear", _i(0, 255, 64, 56, 56).astype("uint8"), *_BYTES, known=2),
    "remainder of int64": _case("Mod", _i(-100, 100, 64, 1024), _i(1, 9, 64, 1024)),
    "quotient of int64": _case("Div", _i(-100, 100, 64, 1024), _i(1, 9, 64, 1024)),
    "shift of bytes": _case(
        "BitShift", _i(0, 255, 64, 4096).astype("uint8"), _i(0, 8, 64, 4096).astype("uint8"), direction="RIGHT"
    ),
    "maximum pool 3x3/2": _case("MaxPool", _f(1, 64, 112, 112), kernel_shape=[3, 3], strides=[2, 2], **_BORDER),
    "maximum pool 5x5": _case("MaxPool", _f(1, 256, 20, 20), kernel_shape=[5, 5], pads=[2, 2, 2, 2]),
    "average pool 3x3": _case("AveragePool", _f(1, 64, 56, 56), kernel_shape=[3, 3], **_BORDER),
    "average over images": _case("GlobalAveragePool", _f(1, 512, 14, 14)),
    "Lp pool 3x3/2": _case("LpPool", _f(1, 64, 56, 56), kernel_shape=[3, 3], strides=[2, 2]),
    "resize, linear": _case("Resize", _f(1, 16, 56, 56), _NONE, _DOUBLE, known=2, mode="linear"),
    "resize, nearest": _case("Resize", _f(1, 16, 56, 56), _NONE, _DOUBLE, known=2, mode="nearest"),
    "resize, cubic": _case("Resize", _f(1, 16, 56, 56), _NONE, _DOUBLE, known=2, mode="cubic"),
    "grid sample": _case("GridSample", _f(1, 16, 56, 56), np.tanh(_f(1, 56, 56, 2))),
    "RoiAlign of 100": _case(
        "RoiAlign", _f(1, 64, 50, 50), np.abs(_f(100, 4)).cumsum(1) * 10, np.zeros(100, "int64"), known=1,
        output_height=7, output_width=7, sampling_ratio=2,
    ),
    "transpose 64x128x128": _case("Transpose", _f(64, 128, 128), perm=[2, 0, 1]),
    "transpose of an image": _case("Transpose", _f(1, 56, 56, 64), perm=[0, 3, 1, 2]),
    "concatenate channels": _case("Concat", _f(1, 32, 56, 56), _f(1, 64, 56, 56), axis=1),
    "concatenate rows": _case("Concat", _f(512, 64), _f(512, 33), _f(512, 40), axis=1),
    "slice of 64x128x128": _case("Slice", _f(64, 128, 128), _at(0, 1), _at(64, 127), _at(1, 2), known=3),
    "pad, constant": _case("Pad", _f(1, 32, 56, 56), _at(0, 0, 1, 1, 0, 0, 1, 1), known=1),
    "pad, reflected": _case("Pad", _f(1, 32, 56, 56), _at(0, 0, 3, 3, 0, 0, 3, 3), known=1, mode="reflect"),
    "tile 64x64": _case("Tile", _f(64, 64), _at(4, 4), known=1),
    "expand to 64x64x64": _case("Expand", _f(64, 1, 64), _at(64, 64, 64), known=1),
    "depth to space": _case("DepthToSpace", _f(1, 64, 56, 56), blocksize=2),
    "space to depth": _case("SpaceToDepth", _f(1, 16, 56, 56), blocksize=2),
    "col2im": _case("Col2Im", _f(1, 576, 196), _at(14, 14), _at(3, 3), known=2, **_BORDER),
    "lower triangle of 512x512": _case("Trilu", _f(512, 512), upper=0),
    "gather 256 rows": _case("Gather", _f(10000, 64), _i(0, 10000, 256), axis=0),
    "gather elements": _case("GatherElements", _f(512, 512), _i(0, 512, 512, 512), axis=1),
    "scatter 256 rows": _case("ScatterND", _f(1000, 64), _i(0, 1000, 256, 1), _f(256, 64)),
    "one hot of 1024": _case("OneHot", _i(0, 100, 1024), _scalar(100, "int64"), np.array([0, 1], "float32"), known=2),
    "first 10 of 16x1000": _case("TopK", _f(16, 1000), _at(10), known=1, outputs=2, axis=-1),
    "first 100 of 10000": _case("TopK", _f(1, 10000), _at(100), known=1, outputs=2, axis=-1),
    "first 3 of 1000x30": _case("TopK", _f(1000, 30), _at(3), known=1, outputs=2, axis=-1),
    "argmax of 128x1000": _case("ArgMax", _f(128, 1000), axis=-1, keepdims=0),
    "argmax of 4096x10": _case("ArgMax", _f(4096, 10), axis=-1, keepdims=0),
    "argmax over channels": _case("ArgMax", _f(1, 21, 128, 128), axis=1, keepdims=0),
    "sum of rows": _case("ReduceSum", _f(128, 64, 64), _at(2), known=1, keepdims=0),
    "sum of matrices": _case("ReduceSum", _f(128, 64, 64), _at(0), known=1, keepdims=0),
    "mean of short rows": _case("ReduceMean", _f(4096, 12), _at(1), known=1, keepdims=0),
    "length of rows": _case("ReduceL2", _f(128, 4096), _at(1), known=1, keepdims=0),
    "running sums of rows": _case("CumSum", _f(128, 1024), _scalar(1, "int64"), known=1),
    "running sums of columns": _case("CumSum", _f(1024, 128), _scalar(0, "int64"), known=1),
    "LSTM of 64 steps": _case(
        "LSTM", _f(64, 1, 128), _f(1, 512, 128) * np.float32(0.08), _f(1, 512, 128) * np.float32(0.08), known=2,
        hidden_size=128,
    ),
    "nonzero of 128x128": _case("NonZero", (_f(128, 128) > 0).astype("float32")),
    "unique of 4096": _case("Unique", _i(0, 100, 4096).astype("float32")),
}  # fmt: skip


def model_of(case: Case) -> tuple[Any, dict[str, NumPyArray]]:
    """Return a model of an operator, and its inputs."""
    given = {f"x{at}": array for at, array in enumerate(case.inputs)}
    variable = dict(list(given.items())[: len(given) - case.known])
    constants = [numpy_helper.from_array(array, name) for name, array in given.items() if name not in variable]
    outputs = [f"y{at}" for at in range(case.outputs)]
    graph = helper.make_graph(
        [helper.make_node(case.op, list(given), outputs, **case.attributes)],
        case.op,
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in variable.items()
        ],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), variable


def _least(run: Callable[[], Any], seconds: float) -> float:
    """Return the least processor time of a call in so many seconds."""
    began = time.process_time()
    run()
    together = max(1, round(_SHORTEST / max(time.process_time() - began, 1e-7)))
    least, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.process_time()
        for _ in range(together):
            run()
        least = min(least, (time.process_time() - began) / together)
    return least


def row(name: str, case: Case, seconds: float, target: str) -> str:
    """Return the line of an operator."""
    model, inputs = model_of(case)
    other = theirs(model, inputs)
    by_machine = case.op in ("NonZero", "Unique")
    run, results, _ = ours(model, inputs, by_machine, target)
    run()
    other()
    same = all(np.allclose(a, b, 1e-3, 1e-3) for a, b in zip(results(), other(), strict=True))
    times = [[_least(each, seconds / 2 / _TURNS) for each in (run, other)] for _ in range(_TURNS)]
    here, there = (min(each) * 1e6 for each in zip(*times, strict=True))
    verdict = ("same" if same else "OTHER") + " (virtual machine)" * by_machine
    return f"{name:36}{here:12.1f}{there:14.1f}{here / there:8.2f}  {verdict}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names (all operators)")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--mcpu", default="native")
    given = parser.parse_args()
    set_num_threads(1)
    print(f"{'µs':36}{'here':>12}{'onnxruntime':>14}{'ratio':>8}  results")
    for name, case in CASES.items():
        if not given.names or any(part in name for part in given.names):
            print(row(name, case, given.seconds, f"llvm -mcpu={given.mcpu}"), flush=True)


if __name__ == "__main__":
    main()
