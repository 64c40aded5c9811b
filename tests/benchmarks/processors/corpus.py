"""The kernels whose code is looked at: the hottest of models, in four types, and schedules of examples and lessons."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import app.gallery
from app.lessons import Library
from compiler import relay
from compiler.classic import alias
from compiler.driver.relay.build import build
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.expr import Expr
from compiler.runtime.modules.module import Module
from compiler.target.target import Target

Assembly = Callable[[Target], str]
"""Returns the assembly of a kernel for a target."""
_FLOATS = ("float32", "float16", "bfloat16")
_SCRIPTS = (
    "01_matmul_scheduled", "02_vector_add", "04_matmul_reordered", "05_matmul_packed", "06_conv2d",
    "07_reduction_rfactor", "08_softmax", "10_blur_compute_at", "11_argmax", "14_int8_dot", "21_tensorir_matmul",
    "22_tensorir_conv2d",
)  # fmt: skip
_LESSONS = (("vectorize", 1), ("compute-at", 1), ("cache-write", 1), ("beat-numpy", 0), ("beat-numpy", 1),
            ("quantisation", 1))  # fmt: skip
"""Lessons and the numbers of steps whose answers build something."""


def _weight(shape: tuple[int, ...], dtype: str) -> Expr:
    numbers = np.random.default_rng(0).integers(-9, 10, shape)
    return relay.const(numbers.astype("int8")) if dtype == "int8" else relay.cast(relay.const(numbers / 9.0), dtype)


def _data(shape: tuple[int, ...], dtype: str) -> Expr:
    return relay.var("x", shape=shape, dtype="uint8" if dtype == "int8" else dtype)


def _requantized(sums: Expr, channels: int, axis: int) -> Expr:
    scales = relay.const(np.linspace(1e-3, 2e-3, channels).astype("float32"))
    zero, one = relay.const(0), relay.const(1.0)
    return relay.qnn.op.requantize(sums, scales, zero, one, relay.const(3), axis=axis, out_dtype="uint8")


_QUANTIZED = (relay.const(3), relay.const(0), relay.const(0.5), relay.const(0.25))
"""Zero points and scales of data and weights."""


def _dense(rows: int, depth: int, columns: int, dtype: str) -> Expr:
    x, w = _data((rows, depth), dtype), _weight((columns, depth), dtype)
    if dtype != "int8":
        return relay.nn.relu(relay.nn.dense(x, w))
    return _requantized(relay.qnn.op.dense(x, w, *_QUANTIZED, units=columns), columns, 1)


def _conv(channels: int, size: int, out: int, kernel: int, dtype: str, stride: int = 1, groups: int = 1) -> Expr:
    x, w = _data((1, channels, size, size), dtype), _weight((out, channels // groups, kernel, kernel), dtype)
    how: dict[str, Any] = {"strides": stride, "padding": kernel // 2, "groups": groups, "channels": out}
    how["kernel_size"] = (kernel, kernel)
    if dtype != "int8":
        return relay.nn.relu(relay.nn.conv2d(x, w, **how))
    return _requantized(relay.qnn.op.conv2d(x, w, *_QUANTIZED, **how), out, 1)


def _depthwise(channels: int, size: int, dtype: str) -> Expr:
    return _conv(channels, size, channels, 3, dtype, groups=channels)


def _product(batch: int, rows: int, depth: int, columns: int, dtype: str, transposed: bool = True) -> Expr:
    """Attention: queries by keys, or weights by values."""
    x = _data((batch, rows, depth), dtype)
    shape = (batch, columns, depth) if transposed else (batch, depth, columns)
    y = relay.var("y", shape=shape, dtype=dtype)
    if dtype != "int8":
        return relay.nn.batch_matmul(x, y, transpose_b=transposed)
    return relay.qnn.op.batch_matmul(x, y, *_QUANTIZED)


def _normalized(x: Expr, dtype: str, width: int) -> Expr:
    return relay.nn.layer_norm(x, _weight((width,), dtype), _weight((width,), dtype))


def _gelu(x: Expr, dtype: str) -> Expr:
    half, one, root = (relay.const(value, dtype) for value in (0.5, 1.0, 0.7071))
    return x * half * (relay.erf(x * root) + one)


def _graphs() -> dict[str, Callable[[], Expr]]:
    def row(dtype: str, width: int = 768) -> Expr:
        return _data((128, width), dtype)

    def image(dtype: str, size: int = 56) -> Expr:
        return _data((1, 64, size, size), dtype)

    rows: dict[str, Callable[[], Expr]] = {}
    for t in (*_FLOATS, "int8"):
        rows |= {
            f"dense 128x768x768 {t}": lambda t=t: _dense(128, 768, 768, t),
            f"dense 1x512x1000 {t}": lambda t=t: _dense(1, 512, 1000, t),
            f"conv2d 3x3 64 {t}": lambda t=t: _conv(64, 56, 64, 3, t),
            f"depthwise 3x3 144 {t}": lambda t=t: _depthwise(144, 56, t),
            f"attention qk 12x128x64 {t}": lambda t=t: _product(12, 128, 64, 128, t),
            f"max pool 3x3/2 {t}": lambda t=t: relay.nn.max_pool2d(image(t), (3, 3), (2, 2), padding=(1, 1)),
            f"max pool 3x3/2 in blocks {t}": lambda t=t: relay.nn.max_pool2d(
                _data((1, 4, 56, 56, 16), t), (3, 3), (2, 2), padding=(1, 1), layout="NCHW16c"
            ),
        }
    for t in _FLOATS:
        rows |= {
            f"softmax 768 {t}": lambda t=t: relay.nn.softmax(row(t)),
            f"layer norm 768 {t}": lambda t=t: _normalized(row(t), t, 768),
            f"gelu {t}": lambda t=t: _gelu(row(t), t),
            f"global average pool {t}": lambda t=t: relay.nn.global_avg_pool2d(image(t, 7)),
        }
    t = "float32"  # tails, other sizes, and operators whose types make no difference
    return rows | {
        "dense 128x768x3072 uint8 to int32": lambda: relay.nn.dense(
            _data((128, 768), "int8"), _weight((3072, 768), "int8"), out_dtype="int32"
        ),
        "dense 100x300x77 float32": lambda: _dense(100, 300, 77, t),
        "conv2d 1x1 256 to 64 float32": lambda: _conv(256, 56, 64, 1, t),
        "conv2d 1x1 256 to 64 int8": lambda: _conv(256, 56, 64, 1, "int8"),
        "conv2d 7x7/2 3 float32": lambda: _conv(3, 224, 64, 7, t, 2),
        "conv2d 3x3/2 64 to 128 float32": lambda: _conv(64, 56, 128, 3, t, 2),
        "conv2d 3x3 50 at 50 float32": lambda: _conv(50, 50, 50, 3, t),
        "depthwise 3x3 50 at 50 float32": lambda: _depthwise(50, 50, t),
        "attention pv 12x128x128x64 float32": lambda: _product(12, 128, 128, 64, t, transposed=False),
        "attention qk 12x197x64 float32": lambda: _product(12, 197, 64, 197, t),
        "average pool 3x3 float32": lambda: relay.nn.avg_pool2d(image(t), (3, 3), padding=(1, 1)),
        "softmax 197 float32": lambda: relay.nn.softmax(row(t, 197)),
        "sigmoid float32": lambda: relay.sigmoid(row(t)),
        "tanh float32": lambda: relay.tanh(row(t)),
        "sum of rows float32": lambda: relay.sum(row(t), axis=1),
        "quantize float32": lambda: relay.qnn.op.quantize(
            row(t), relay.const(0.1), relay.const(3), out_dtype="uint8"
        ),
    }  # fmt: skip


def _of_graph(define: Callable[[], Expr]) -> Assembly:
    """Return what compiles the kernel of a graph that does the most operations."""

    def assembly(target: Target) -> str:
        module = IRModule.from_expr(define())
        with PassContext(opt_level=3):
            lib = build(module, target).get_lib()
        hottest = max(lib.kernels, key=lambda name: lib.kernels[name].flops or 0)
        return lib.generated(hottest).assembly

    return assembly


def _of_script(text: str) -> Assembly:
    """Return what runs a script up to where it builds, for another target than this machine."""
    nodes = ast.parse(text).body
    built = [node.end_lineno for node in nodes if "tvm.build(" in (ast.get_source_segment(text, node) or "")]
    begin = "\n".join(text.splitlines()[: built[-1]])

    def assembly(target: Target) -> str:
        names: dict[str, Any] = {"__name__": "__main__"}
        script, name = re.sub(r'"llvm(?: -mcpu=native)?"', repr(str(target)), begin), f"<script for {target.cpu}>"
        linecache.cache[name] = (len(script), None, script.splitlines(keepends=True), name)  # TVMScript is read there
        exec(compile(script, name, "exec"), names)
        return [value for value in names.values() if isinstance(value, Module)][-1].get_source("asm")

    alias.install()
    return assembly


@cache
def kernels() -> Mapping[str, Assembly]:
    """Return the kernels by name."""
    folder = Path(app.gallery.__file__).parent
    steps = {lesson.name: lesson.steps for lesson in Library().lessons}
    scripts = {f"example {name}": (folder / f"{name}.py").read_text(encoding="utf-8") for name in _SCRIPTS}
    scripts |= {f"lesson {name} {at + 1}": steps[name][at].answer or "" for name, at in _LESSONS}
    graphs = {name: _of_graph(define) for name, define in _graphs().items()}
    return graphs | {name: _of_script(text) for name, text in scripts.items()}
