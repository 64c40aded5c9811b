"""Patterns of oneDNN: which expressions become its functions.  The expectations are those of TVM 0.19."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.classic.relay.contrib import get_pattern_table
from compiler.ir.module import IRModule
from compiler.ir.transform import Sequential
from compiler.relay import transform

op: Any = relay.op
passes: Any = transform
X = relay.var("x", shape=(1, 4, 8, 8))
OTHER = relay.var("other", shape=(1, 4, 8, 8))
ROWS = relay.var("rows", shape=(2, 8))
WEIGHT = relay.var("weight", shape=(6, 8))


def ones(*shape: int) -> Any:
    return relay.const(np.ones(shape, "float32"))


def conv() -> Any:
    return op.nn.conv2d(X, ones(4, 4, 3, 3), padding=(1, 1), channels=4, kernel_size=(3, 3))


def conv_bias(*bias: int) -> Any:
    return op.add(conv(), ones(*bias))


def gelu(x: Any) -> Any:
    error = op.add(op.erf(op.divide(x, relay.const(1.4142))), relay.const(1.0))
    return op.multiply(op.multiply(x, error), relay.const(0.5))


def swish(x: Any) -> Any:
    return op.multiply(x, op.sigmoid(x))


def mish(x: Any) -> Any:
    return op.multiply(x, op.tanh(op.log(op.add(relay.const(1.0), op.exp(x)))))


def dense_bias() -> Any:
    return op.add(op.nn.dense(ROWS, WEIGHT), ones(6))


GRAPHS = [
    ("conv2d_relu", op.nn.relu(conv())),
    ("conv2d_bias", conv_bias(4, 1, 1)),
    ("conv2d_bias_relu", op.nn.relu(conv_bias(1, 4, 1, 1))),
    ("conv2d_bias_sum", op.add(conv_bias(4, 1, 1), OTHER)),
    ("conv2d_bias_sum_relu", op.nn.relu(op.add(conv_bias(4, 1, 1), OTHER))),
    ("conv2d_gelu", gelu(conv())),
    ("conv2d_bias_swish", swish(conv_bias(4, 1, 1))),
    ("conv2d_mish", mish(conv())),
    ("conv2d_bias_clip", op.clip(conv_bias(4, 1, 1), 0.0, 6.0)),
    ("dense_bias_relu", op.nn.relu(dense_bias())),
    ("dense_bias_sum", op.add(dense_bias(), relay.var("r", shape=(2, 6)))),
    (None, conv()),
    (None, op.nn.relu(conv_bias(8))),
    (None, op.nn.relu(op.add(conv(), relay.const(1.0)))),
    (None, op.nn.relu(op.add(conv(), OTHER))),
    (None, op.add(op.add(conv(), OTHER), ones(4, 1, 1))),
]


@pytest.mark.parametrize(("name", "body"), GRAPHS)
def test_expressions_become_functions(name: str | None, body: Any) -> None:
    mod = passes.InferType()(IRModule.from_expr(relay.Function(tuple(relay.analysis.free_vars(body)), body)))
    mod = passes.MergeComposite(get_pattern_table("dnnl"))(mod)
    found: list[str] = []

    def look(expr: Any) -> None:
        if isinstance(expr, relay.Function) and "Composite" in expr.attrs:
            found.append(str(expr.attrs["Composite"]))

    relay.analysis.post_order_visit(mod["main"], look)
    assert found == ([f"dnnl.{name}"] if name else [])


def test_the_table_has_every_combination() -> None:
    names = [entry[0] for entry in get_pattern_table("dnnl")]
    assert len(names) == len(set(names)) == 95
    assert (
        names.index("dnnl.deconv3d_bias_gelu") < names.index("dnnl.deconv3d_bias") < names.index("dnnl.deconv3d_gelu")
    )
    assert get_pattern_table("no such compiler") is None


@pytest.mark.parametrize(
    ("supported", "body"),
    [
        (True, op.nn.max_pool2d(X, (2, 2))),
        (False, op.nn.max_pool2d(X, (3, 3), strides=(2, 2), ceil_mode=True)),
        (False, op.abs(relay.var("n", shape=(2,), dtype="int64"))),
        (True, op.nn.softmax(X)),
    ],
)
def test_operators_that_it_supports(supported: bool, body: Any) -> None:
    get_pattern_table("dnnl")
    mod = IRModule.from_expr(relay.Function(tuple(relay.analysis.free_vars(body)), body))
    steps = [passes.AnnotateTarget("dnnl"), passes.PartitionGraph()]
    assert (len(Sequential(steps)(mod).functions) == 2) == supported
