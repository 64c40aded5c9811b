"""Networks for images and sequences, as their papers describe them."""

from __future__ import annotations

from typing import Any

from onnx import TensorProto

from tests.models.writer import Writer


def _convolved(
    w: Writer, x: str, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1, rank: int = 2
) -> str:
    """A convolution that keeps the image's size but for the stride, and its batch normalisation."""
    around = kernel // 2
    weight = w.weight(outputs, inputs // groups, *[kernel] * rank)
    shape = {"strides": [stride] * rank, "pads": [around] * 2 * rank, "kernel_shape": [kernel] * rank}
    x = w.node("Conv", x, weight, group=groups, **shape)
    scale, bias, mean, variance = w.around(1, outputs), w.around(0, outputs), w.around(0, outputs), w.around(1, outputs)
    return w.node("BatchNormalization", x, scale, bias, mean, variance, epsilon=1e-5)


def residual(image: int = 224, width: int = 64, classes: int = 1000, batch: int = 1) -> Any:
    """ResNet-18: He et al., "Deep residual learning for image recognition", 2016."""
    return _residual((2, 2, 2, 2), False, image, width, classes, batch)


def bottlenecks(image: int = 224, width: int = 64, classes: int = 1000, batch: int = 1) -> Any:
    """ResNet-50 of the same paper, with the stride in the 3 x 3 convolutions, as it is usually trained."""
    return _residual((3, 4, 6, 3), True, image, width, classes, batch)


def _residual(blocks: tuple[int, ...], is_narrow: bool, image: int, width: int, classes: int, batch: int) -> Any:
    """A residual network; narrow blocks are 1 x 1, 3 x 3 and 1 x 1 to four times as many channels."""
    w = Writer(18)
    x = w.input("data", [batch, 3, image, image])
    x = w.node("Relu", _convolved(w, x, 3, width, 7, 2))
    x = w.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = width
    for stage, count in enumerate(blocks):
        for block in range(count):
            inside = width << stage
            outputs = 4 * inside if is_narrow else inside
            stride = 2 if stage and not block else 1
            if is_narrow:
                inner = w.node("Relu", _convolved(w, x, channels, inside, 1))
                inner = w.node("Relu", _convolved(w, inner, inside, inside, 3, stride))
                inner = _convolved(w, inner, inside, outputs, 1)
            else:
                inner = w.node("Relu", _convolved(w, x, channels, inside, 3, stride))
                inner = _convolved(w, inner, inside, inside, 3)
            short = x if channels == outputs else _convolved(w, x, channels, outputs, 1, stride)
            x = w.node("Relu", w.node("Add", inner, short))
            channels = outputs
    x = w.node("Flatten", w.node("GlobalAveragePool", x))
    x = w.node("Gemm", x, w.weight(classes, channels), w.around(0, classes), transB=1)
    return w.model("resnet", x, [batch, classes])


def video(frames: int = 16, image: int = 112, width: int = 64, classes: int = 400, batch: int = 1) -> Any:
    """R3D-18: Tran et al., "A closer look at spatiotemporal convolutions for action recognition", 2018."""
    w = Writer(3)
    x = w.input("data", [batch, 3, frames, image, image])
    shape = {"strides": [1, 2, 2], "pads": [1, 3, 3] * 2, "kernel_shape": [3, 7, 7]}
    x = w.node("Relu", w.node("Conv", x, w.weight(width, 3, 3, 7, 7), **shape))
    channels = width
    for stage in range(4):
        for block in range(2):
            outputs, stride = width << stage, 2 if stage and not block else 1
            inner = w.node("Relu", _convolved(w, x, channels, outputs, 3, stride, rank=3))
            inner = _convolved(w, inner, outputs, outputs, 3, rank=3)
            short = x if channels == outputs else _convolved(w, x, channels, outputs, 1, stride, rank=3)
            x, channels = w.node("Relu", w.node("Add", inner, short)), outputs
    x = w.node("Flatten", w.node("GlobalAveragePool", x))
    x = w.node("Gemm", x, w.weight(classes, channels), w.around(0, classes), transB=1)
    return w.model("video", x, [batch, classes])


_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""Expansion, channels, blocks and stride of each stage."""


def mobile(image: int = 224, width: float = 1.0, classes: int = 1000, batch: int = 1) -> Any:
    """MobileNetV2: Sandler et al., "Inverted residuals and linear bottlenecks", 2018."""
    w = Writer(2)

    def scaled(channels: int) -> int:
        return max(8, int(channels * width) // 8 * 8)

    def clipped(x: str) -> str:
        return w.node("Clip", x, w.constant(0.0), w.constant(6.0))

    x = w.input("data", [batch, 3, image, image])
    channels = scaled(32)
    x = clipped(_convolved(w, x, 3, channels, 3, 2))
    for expansion, outputs, blocks, first in _STAGES:
        for block in range(blocks):
            stride, wide, narrow = first if block == 0 else 1, channels * expansion, scaled(outputs)
            inner = clipped(_convolved(w, x, channels, wide, 1)) if expansion > 1 else x
            inner = clipped(_convolved(w, inner, wide, wide, 3, stride, groups=wide))
            inner = _convolved(w, inner, wide, narrow, 1)
            x = w.node("Add", x, inner) if stride == 1 and channels == narrow else inner
            channels = narrow
    last = max(1280, scaled(1280)) if width >= 1 else scaled(1280)
    x = clipped(_convolved(w, x, channels, last, 1))
    x = w.node("Flatten", w.node("GlobalAveragePool", x))
    x = w.node("Gemm", x, w.weight(classes, last), w.around(0, classes), transB=1)
    return w.model("mobilenetv2", x, [batch, classes])


def segmenting(samples: int = 7520, width: int = 16, levels: int = 4, kernel: int = 9, classes: int = 5) -> Any:
    """A U-Net over a signal: Ronneberger et al., "U-Net", 2015, with convolutions of one dimension."""
    w = Writer(9)

    def twice(x: str, inputs: int, outputs: int) -> str:
        for first in (inputs, outputs):
            weight, around = w.weight(outputs, first, kernel), [kernel // 2] * 2
            x = w.node("Relu", w.node("Conv", x, weight, w.around(0, outputs), pads=around, kernel_shape=[kernel]))
        return x

    x, channels, skipped = w.input("data", [1, 2, samples]), 2, []
    for level in range(levels):
        x, channels = twice(x, channels, width << level), width << level
        skipped.append((x, channels))
        x = w.node("MaxPool", x, kernel_shape=[2], strides=[2])
    x, channels = twice(x, channels, 2 * channels), 2 * channels
    for other, outputs in reversed(skipped):
        x = w.node("ConvTranspose", x, w.weight(channels, outputs, 2), strides=[2], kernel_shape=[2])
        x, channels = twice(w.node("Concat", x, other, axis=1), 2 * outputs, outputs), outputs
    x = w.node("Conv", x, w.weight(classes, channels, 1), kernel_shape=[1])
    return w.model("unet1d", x, [1, classes, samples])


def convolutional(batch: int | str = "batch") -> Any:
    """LeNet-5 with a batch of any size: LeCun et al., "Gradient-based learning", 1998.

    It is flattened as exporters write it, by arithmetic on the shape.
    """
    w = Writer(5)
    x = w.input("data", [batch, 1, 28, 28])
    for inputs, outputs in ((1, 6), (6, 16)):
        x = w.node("Conv", x, w.weight(outputs, inputs, 5, 5), w.around(0, outputs), pads=[2] * 4)
        x = w.node("MaxPool", w.node("Tanh", x), kernel_shape=[2, 2], strides=[2, 2])
    first = w.node("Gather", w.node("Shape", x), w.constant(0, "int64"), axis=0)
    first = w.node("Unsqueeze", first, w.constant([0], "int64"))
    x = w.node("Reshape", x, w.node("Concat", first, w.constant([-1], "int64"), axis=0))
    for inputs, outputs in ((784, 120), (120, 84)):
        x = w.node("Tanh", w.node("Gemm", x, w.weight(outputs, inputs), w.around(0, outputs), transB=1))
    x = w.node("Gemm", x, w.weight(10, 84), w.around(0, 10), transB=1)
    return w.model("lenet", w.node("Softmax", x, axis=-1), [batch, 10])


def recurrent(length: int = 64, inputs: int = 128, hidden: int = 256, batch: int = 1, classes: int = 10) -> Any:
    """A classifier of sequences: an LSTM in both directions, and a layer on its last states."""
    w = Writer(7)
    x = w.input("data", [length, batch, inputs], TensorProto.FLOAT)
    weights = [w.weight(2, 4 * hidden, inputs, scale=0.1), w.weight(2, 4 * hidden, hidden, scale=0.1)]
    bias = w.weight(2, 8 * hidden, scale=0.1)
    _, last, _ = w.node("LSTM", x, *weights, bias, outputs=3, hidden_size=hidden, direction="bidirectional")
    rows = w.node("Reshape", w.node("Transpose", last, perm=[1, 0, 2]), w.constant([batch, 2 * hidden], "int64"))
    x = w.node("Gemm", rows, w.weight(classes, 2 * hidden), w.around(0, classes), transB=1)
    return w.model("lstm", x, [batch, classes])


def gated(length: int = 64, inputs: int = 128, hidden: int = 256, batch: int = 1) -> Any:
    """The last state of a GRU."""
    w = Writer(8)
    x = w.input("data", [length, batch, inputs], TensorProto.FLOAT)
    weights = [w.weight(1, 3 * hidden, inputs, scale=0.1), w.weight(1, 3 * hidden, hidden, scale=0.1)]
    _, last = w.node("GRU", x, *weights, w.weight(1, 6 * hidden, scale=0.1), outputs=2, hidden_size=hidden)
    return w.model("gru", last, [1, batch, hidden])
