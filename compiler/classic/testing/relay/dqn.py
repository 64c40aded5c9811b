"""A network that plays video games: ``tvm.relay.testing.dqn``.

References
----------
V. Mnih et al., "Human-level control through deep reinforcement learning", Nature 518, 2015.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.testing.relay import layers
from compiler.classic.testing.relay.init import create_workload
from compiler.classic.testing.relay.network import Workload, closed, network_input
from compiler.ir.error import expected
from compiler.relay.expr import Expr, var
from compiler.relay.function import Function
from compiler.relay.operator import call_op

_CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
"""Channels, extent and stride."""


def get_net(
    batch_size: int,
    num_actions: int = 18,
    image_shape: Sequence[int] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Function:
    """Return three convolutions and two dense layers: the worth of each action, ``(batch_size, num_actions)``."""
    if layout not in ("NCHW", "NHWC"):
        expected("dqn", "layout", "'NCHW' or 'NHWC'", layout)
    body: Expr = network_input(batch_size, image_shape, dtype)
    for index, (channels, extent, stride) in enumerate(_CONVOLUTIONS, 1):
        body = layers.conv2d(
            body,
            channels=channels,
            kernel_size=(extent, extent),
            strides=(stride, stride),
            padding=(0, 0),
            name=f"conv{index}",
            data_layout=layout,
            kernel_layout=layers.conv_kernel_layout(layout),
        )
        body = call_op("nn.relu", call_op("nn.bias_add", body, var(f"conv{index}_bias"), axis=layout.index("C")))
    body = call_op("nn.batch_flatten", body)
    body = call_op("nn.relu", layers.dense_add_bias(body, units=512, name="dense1"))
    body = layers.dense_add_bias(body, units=num_actions, name="dense2")
    return closed(body)


def get_workload(
    batch_size: int,
    num_actions: int = 18,
    image_shape: Sequence[int] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> Workload:
    """Return the network as a module, and first values of its parameters."""
    return create_workload(get_net(batch_size, num_actions, image_shape, dtype, layout))
