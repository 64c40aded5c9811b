"""A network whose blocks hand the results of all of their layers on: ``tvm.relay.testing.densenet``.

References
----------
G. Huang et al., "Densely connected convolutional networks", CVPR 2017, arXiv:1608.06993; in the form in which TVM's
lessons have it, where a layer reads the layer before it alone and a block concatenates what its layers computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.testing.relay import layers
from compiler.classic.testing.relay.init import create_workload
from compiler.classic.testing.relay.network import Workload, closed, convolution, network_input
from compiler.ir.error import expected
from compiler.relay.expr import Expr, Tuple
from compiler.relay.operator import call_op

_SIZES: dict[int, tuple[int, int, tuple[int, ...]]] = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}
"""By the number of layers: channels of the first convolution, channels of a layer, layers of each block."""
_BOTTLENECK = 4
"""How many times a layer's channels its first convolution has."""


def _activated(data: Expr, name: str) -> Expr:
    return call_op("nn.relu", layers.batch_norm_infer(data, name=name))


def _layer(data: Expr, growth: int, name: str) -> Expr:
    body = convolution(_activated(data, f"batch_1_{name}"), _BOTTLENECK * growth, 1, f"conv2d_1_{name}")
    return convolution(_activated(body, f"batch_2_{name}"), growth, 3, f"conv2d_2_{name}", padding=1)


def _block(data: Expr, count: int, growth: int, index: int) -> Expr:
    outputs: list[Expr] = []
    for layer in range(count):
        outputs.append(_layer(outputs[-1] if outputs else data, growth, f"{index}_{layer}"))
    return call_op("concatenate", Tuple(tuple(outputs)), axis=1)


def _transition(data: Expr, channels: int, index: int) -> Expr:
    body = convolution(_activated(data, f"batch_t_{index}"), channels, 1, f"conv_t_{index}")
    return call_op("nn.avg_pool2d", body, pool_size=(2, 2), strides=(2, 2))


def _network(data: Expr, size: tuple[int, int, tuple[int, ...]], classes: int) -> Expr:
    channels, growth, blocks = size
    body = _activated(convolution(data, channels, 7, "conv1", padding=3, stride=2), "batch1")
    body = call_op("nn.max_pool2d", body, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    for index, count in enumerate(blocks):
        body = _block(body, count, growth, index)
        channels += count * growth
        if index < len(blocks) - 1:
            channels //= 2
            body = _transition(body, channels, index)
    body = call_op("nn.avg_pool2d", _activated(body, "batch2"), pool_size=(7, 7))
    return layers.dense_add_bias(call_op("nn.batch_flatten", body), units=classes, name="dense")


def get_workload(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: int = 4,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
) -> Workload:
    """Return a network as a module, and first values of its parameters; its size is 121, 161, 169 or 201 layers."""
    if densenet_size not in _SIZES:
        expected("densenet", "densenet_size", " or ".join(map(str, _SIZES)), densenet_size)
    images = network_input(batch_size, image_shape, dtype)
    body = _network(images, _SIZES[densenet_size], classes)
    return create_workload(closed(body))
