"""A small network for large images: ``tvm.relay.testing.squeezenet``.

References
----------
F. N. Iandola et al., "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters and <0.5MB model size",
arXiv:1602.07360.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.testing.relay.init import create_workload
from compiler.classic.testing.relay.network import Workload, closed, convolution, network_input
from compiler.ir.error import expected
from compiler.relay.expr import Expr, Tuple, TupleGetItem, var
from compiler.relay.function import Function
from compiler.relay.operator import call_op

_FIRES = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
"""Channels of each fire module: squeezed, and of each expanded half."""
_VERSIONS = {"1.0": (96, 7, 3, (0, 3, 7)), "1.1": (64, 3, 1, (0, 2, 4))}
"""Channels, extent and padding of the first convolution, and before which fire modules there is pooling."""


def _convolution(data: Expr, channels: int, extent: int, name: str, padding: int = 0, stride: int = 1) -> Expr:
    body = convolution(data, channels, extent, name, padding, stride)
    return call_op("nn.relu", call_op("nn.bias_add", body, var(f"{name}_bias")))


def _fire(data: Expr, squeezed: int, expanded: int, name: str) -> Expr:
    body = _convolution(data, squeezed, 1, f"{name}_input_conv")
    left = _convolution(body, expanded, 1, f"{name}_left_conv")
    right = _convolution(body, expanded, 3, f"{name}_right_conv", padding=1)
    return call_op("concatenate", Tuple((left, right)), axis=1)


def get_net(batch_size: int, image_shape: Sequence[int], num_classes: int, version: str, dtype: str) -> Function:
    """Return the network, version ``1.0`` or ``1.1``, which needs less time."""
    if version not in _VERSIONS:
        expected("squeezenet", "version", " or ".join(map(repr, _VERSIONS)), version)
    channels, extent, padding, pooled = _VERSIONS[version]
    body: Expr = network_input(batch_size, image_shape, dtype)
    body = _convolution(body, channels, extent, "conv1", padding, stride=2)
    for index, (squeezed, expanded) in enumerate(_FIRES):
        if index in pooled:
            body = call_op("nn.max_pool2d", body, pool_size=(3, 3), strides=(2, 2))
        body = _fire(body, squeezed, expanded, f"fire{index + 1}")
    body = TupleGetItem(call_op("nn.dropout", body, rate=0.5), 0)
    body = _convolution(body, num_classes, 1, "conv_final")
    flat = call_op("nn.batch_flatten", call_op("nn.global_avg_pool2d", body))
    result = call_op("nn.softmax", flat)
    return closed(result)


def get_workload(
    batch_size: int = 1,
    num_classes: int = 1000,
    version: str = "1.0",
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
) -> Workload:
    """Return the network as a module, and first values of its parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, version, dtype))
