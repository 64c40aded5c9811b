"""A multilayer perceptron: ``tvm.relay.testing.mlp``."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.testing.relay import layers
from compiler.classic.testing.relay.init import create_workload
from compiler.classic.testing.relay.network import Workload, closed, network_input
from compiler.relay.expr import Expr
from compiler.relay.function import Function
from compiler.relay.operator import call_op


def get_net(
    batch_size: int, num_classes: int = 10, image_shape: Sequence[int] = (1, 28, 28), dtype: str = "float32"
) -> Function:
    """Return three dense layers, of 128, 64 and ``num_classes`` outputs, and the probability of each class."""
    images = network_input(batch_size, image_shape, dtype)
    hidden: Expr = call_op("nn.batch_flatten", images)
    for index, units in enumerate((128, 64), 1):
        hidden = call_op("nn.relu", layers.dense_add_bias(hidden, units=units, name=f"fc{index}"))
    result = call_op("nn.softmax", layers.dense_add_bias(hidden, units=num_classes, name="fc3"))
    return closed(result)


def get_workload(
    batch_size: int, num_classes: int = 10, image_shape: Sequence[int] = (1, 28, 28), dtype: str = "float32"
) -> Workload:
    """Return the network as a module, and first values of its parameters."""
    return create_workload(get_net(batch_size, num_classes, image_shape, dtype))
