"""The rate of single layers, beside the largest that the machine has.

    python -m tests.benchmarks.kernels [NAME …]

One thread, processor time where other programs disturb it, the best of several turns.  Convolutions are compiled as
they are written (``NCHW``) and in the layout that AlterOpLayout chooses for this machine; every kernel ends in a relu,
as it would in a model.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import compiler as tvm
from compiler import relay, te
from compiler.relay.inference import infer_expr
from compiler.runtime.parallel.threads import set_num_threads
from compiler.runtime.timing.clock import is_disturbed
from compiler.runtime.timing.measurement import measure
from compiler.target.cpu.peak import measure_peak
from compiler.tir.layout.data_layout import layout

TARGET = "llvm"
TURNS = 12


def convolution(
    n: int, c: int, size: int, out: int, kernel: int, stride: int = 1, groups: int = 1
) -> tuple[Any, float]:
    """Return a convolution of square images, and its operations."""
    x = relay.var("x", shape=(n, c, size, size))
    w = relay.var("w", shape=(out, c // groups, kernel, kernel))
    call = relay.nn.conv2d(x, w, strides=stride, padding=kernel // 2, groups=groups)
    shape = infer_expr(call).concrete_shape
    return call, 2.0 * np.prod(shape) * (c // groups) * kernel * kernel


def product(rows: int, depth: int, columns: int) -> tuple[Any, float]:
    """Return a dense layer, and its operations."""
    call = relay.nn.dense(relay.var("x", shape=(rows, depth)), relay.var("w", shape=(columns, depth)))
    return call, 2.0 * rows * depth * columns


def matrices(rows: int, depth: int, columns: int) -> tuple[Any, float]:
    """Return a product with a matrix whose columns are neighbours in memory, and its operations."""
    call = relay.nn.matmul(relay.var("x", shape=(rows, depth)), relay.var("w", shape=(depth, columns)))
    return call, 2.0 * rows * depth * columns


LAYERS = {
    "resnet stem 7x7/2": convolution(1, 3, 224, 64, 7, 2),
    "resnet 64 3x3 56": convolution(1, 64, 56, 64, 3),
    "resnet 128 3x3 28": convolution(1, 128, 28, 128, 3),
    "resnet 256 3x3 14": convolution(1, 256, 14, 256, 3),
    "resnet 512 3x3 7": convolution(1, 512, 7, 512, 3),
    "resnet 128 1x1/2": convolution(1, 64, 56, 128, 1, 2),
    "mobilenet 1x1 56": convolution(1, 24, 56, 144, 1),
    "mobilenet depthwise 56": convolution(1, 144, 56, 144, 3, 1, 144),
    "bert 768 to 3072": product(128, 768, 3072),
    "bert 3072 to 768": product(128, 3072, 768),
    "matrices 128 768 3072": matrices(128, 768, 3072),
    "matrices 1000 1000 1000": matrices(1000, 1000, 1000),
    "matrices 1024 1024 1024": matrices(1024, 1024, 1024),
    "matrices 196 64 196": matrices(196, 64, 196),
    "classifier, one row": product(1, 512, 1000),
}


def packed(call: Any) -> Any:
    """Return a call in the layout that its operator chooses for the target, or None."""
    types = [a.checked_type for a in call.args]
    rule = call.op.alter_layout
    made = rule(call, types, tvm.target.Target(TARGET)) if rule is not None else None
    if made is None:
        return None
    names = (("NCHW", made.attrs.data_layout), ("OIHW", made.attrs.kernel_layout))
    shapes = [layout(now).shape(layout(old).extents(t.dims)) for (old, now), t in zip(names, types, strict=True)]
    again = made.op(*[relay.var("x", shape=s) for s in shapes], **made.attrs)
    infer_expr(again)
    return again


def seconds(call: Any) -> list[float]:
    """Return the time of one run of a layer and a relu: of the processor, where other programs disturb it."""
    types = [a.checked_type for a in call.args]
    inputs = [te.placeholder(t.concrete_shape, t.dtype, name=f"x{i}") for i, t in enumerate(types)]
    with tvm.target.Target(TARGET) as target:
        (result,) = call.op.compute(call.attrs, inputs, call.checked_type)
        relu = te.compute(result.shape, lambda *i: te.max(result(*i), 0.0), name="relu", tag="elemwise")
        kernel = tvm.build(call.op.schedule(call.attrs, [relu], target), [*inputs, relu], target=target)
    rng = np.random.default_rng(0)
    args = [tvm.nd.array(rng.standard_normal(t.concrete_shape, "float32")) for t in (*types, call.checked_type)]
    return measure(lambda: kernel(*args), 1, TURNS, 2e-3)[1]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="words that the layers' names contain")
    words = parser.parse_args().names
    set_num_threads(1)
    peak = max(measure_peak("float32", 1) for _ in range(5))
    print(f"{'GFLOP/s':24}{'as written':>12}{'% of peak':>11}{'in blocks':>12}{'% of peak':>11}")
    for name, (call, operations) in LAYERS.items():
        if words and not any(word in name for word in words):
            continue
        infer_expr(call)
        line = f"{name:24}"
        for each in (call, packed(call)):
            if each is not None:
                times = seconds(each)
                rate = operations / min(times) / 1e9
                line += f"{rate:12.1f}{100 * rate / peak:11.0f}{' disturbed' if is_disturbed(times) else ''}"
        print(line)


if __name__ == "__main__":
    main()
