"""Deep networks of small convolutions: ``tvm.relay.testing.vgg``.

References
----------
K. Simonyan and A. Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition", ICLR 2015.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.testing.relay import layers
from compiler.classic.testing.relay.init import create_workload
from compiler.classic.testing.relay.network import Workload, closed, network_input
from compiler.ir.error import expected
from compiler.relay.expr import Expr, TupleGetItem, var
from compiler.relay.function import Function
from compiler.relay.operator import call_op

_STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
"""Convolutions of each stage, by the number of layers."""
_FILTERS = (64, 128, 256, 512, 512)


def get_feature(
    internal_layer: Expr, layers_per_stage: Sequence[int], filters: Sequence[int], batch_norm: bool = False
) -> Expr:
    """Return the convolutions, so many of so many channels in each stage, which ends with pooling."""
    body = internal_layer
    for stage, (count, channels) in enumerate(zip(layers_per_stage, filters, strict=True), 1):
        for index in range(1, count + 1):
            name = f"{stage}_{index}"
            body = layers.conv2d(body, kernel_size=(3, 3), padding=(1, 1), channels=channels, name=f"conv{name}")
            body = call_op("nn.bias_add", body, var(f"conv{name}_bias"))
            if batch_norm:
                body = layers.batch_norm_infer(body, name=f"bn{name}")
            body = call_op("nn.relu", body)
        body = call_op("nn.max_pool2d", body, pool_size=(2, 2), strides=(2, 2))
    return body


def get_classifier(input_data: Expr, num_classes: int) -> Expr:
    """Return the three dense layers."""
    body: Expr = call_op("nn.batch_flatten", input_data)
    for name in ("fc6", "fc7"):
        body = call_op("nn.relu", layers.dense_add_bias(body, units=4096, name=name))
        body = TupleGetItem(call_op("nn.dropout", body, rate=0.5), 0)
    return layers.dense_add_bias(body, units=num_classes, name="fc8")


def get_net(
    batch_size: int,
    image_shape: Sequence[int],
    num_classes: int,
    dtype: str,
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Function:
    """Return the network of 11, 13, 16 or 19 layers, perhaps normalised after each convolution."""
    if num_layers not in _STAGES:
        expected("vgg", "num_layers", f"one of {', '.join(map(str, _STAGES))}", num_layers)
    images = network_input(batch_size, image_shape, dtype)
    features = get_feature(images, _STAGES[num_layers], _FILTERS, batch_norm)
    result = call_op("nn.softmax", get_classifier(features, num_classes))
    return closed(result)


def get_workload(
    batch_size: int,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> Workload:
    """Return the network as a module, and first values of its parameters."""
    return create_workload(get_net(batch_size, image_shape, num_classes, dtype, num_layers, batch_norm))
