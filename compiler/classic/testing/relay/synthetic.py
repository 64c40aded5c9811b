"""A small network in which branches meet: ``tvm.relay.testing.synthetic``."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.testing.relay import layers
from compiler.classic.testing.relay.init import create_workload
from compiler.classic.testing.relay.network import Workload, closed
from compiler.relay.expr import Expr, var
from compiler.relay.function import Function
from compiler.relay.operator import call_op
from compiler.relay.ty import TensorType


def _branches(block: Expr, data: Expr, dense_weight: Expr, conv_weight: Expr, columns: int) -> Expr:
    """Return the sum of a dense layer over the columns and a convolution, each with its activation."""
    flat = call_op("reshape", block, newshape=(-1, columns))
    dense = call_op("nn.relu", call_op("nn.dense", flat, dense_weight))
    conv = call_op("nn.softmax", call_op("nn.conv2d", block, conv_weight, kernel_size=(3, 3), padding=(1, 1)))
    return call_op("add", call_op("reshape_like", dense, data), conv)


def get_net(input_shape: Sequence[int] = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None) -> Function:
    """Return the network, whose value has the shape of the images; weights have the data type ``wtype``, or theirs."""
    channels, columns = input_shape[1], input_shape[3]
    weight = wtype or dtype
    dense_type = TensorType((columns, columns), weight)
    conv_type = TensorType((channels, channels, 3, 3), weight)
    data = var("data", TensorType(tuple(input_shape), dtype))
    first = _branches(data, data, var("dense_weight", dense_type), var("conv_weight", conv_type), columns)
    biased = call_op("nn.bias_add", first, var("bias", TensorType((channels,), weight)))
    middle = layers.batch_norm_infer(biased, name="batch_norm")
    result = _branches(middle, data, var("dense2_weight", dense_type), var("conv2_weight", conv_type), columns)
    return closed(result)


def get_workload(
    input_shape: Sequence[int] = (1, 3, 24, 12), dtype: str = "float32", wtype: str | None = None
) -> Workload:
    """Return the network as a module, and first values of its parameters."""
    return create_workload(get_net(input_shape, dtype, wtype))
