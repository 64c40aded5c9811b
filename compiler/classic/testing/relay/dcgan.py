"""The generator of an adversarial network: ``tvm.relay.testing.dcgan``.

References
----------
A. Radford, L. Metz and S. Chintala, "Unsupervised Representation Learning with Deep Convolutional Generative
Adversarial Networks", ICLR 2016.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.testing.relay import layers
from compiler.classic.testing.relay.init import create_workload
from compiler.classic.testing.relay.network import Workload, closed, network_input
from compiler.ir.error import ArgumentError
from compiler.relay.expr import Expr, var
from compiler.relay.function import Function
from compiler.relay.operator import call_op


def deconv2d(
    data: Expr,
    ishape: Sequence[int],
    oshape: Sequence[int],
    kshape: Sequence[int],
    layout: str,
    name: str,
    stride: Sequence[int] = (2, 2),
) -> Expr:
    """Return a transposed convolution that makes images of a shape; shapes are those of one image, in ``layout``.

    Raises ArgumentError if the shapes do not go with the strides.
    """
    pads, extras = [], []
    for axis, (extent, step) in enumerate(zip(kshape, stride, strict=True)):
        place = layout.index("HW"[axis]) - 1
        target = oshape[place]
        # the usual padding; an odd difference is made up for at the end
        pad = (extent - 1 - (target + extent) % step) // 2
        extra = target - ((ishape[place] - 1) * step + extent - 2 * pad)
        if not 0 <= extra < step:
            raise ArgumentError(f"deconv2d: cannot make images of shape {tuple(oshape)} from {tuple(ishape)}")
        pads.append(pad)
        extras.append(extra)
    kernel_layout = "IOHW" if layout == "NCHW" else "HWOI"
    return layers.conv2d_transpose(
        data,
        kernel_size=tuple(kshape),
        strides=tuple(stride),
        channels=oshape[layout.index("C") - 1],
        padding=tuple(pads),
        output_padding=tuple(extras),
        data_layout=layout,
        kernel_layout=kernel_layout,
        name=name,
    )


def deconv2d_bn_relu(
    data: Expr,
    prefix: str,
    ishape: Sequence[int],
    oshape: Sequence[int],
    kshape: Sequence[int],
    layout: str,
    eps: float = 1e-5 + 1e-12,
) -> Expr:
    """Return :func:`deconv2d`, normalised and activated."""
    image = deconv2d(data, ishape, oshape, kshape, layout, f"{prefix}_deconv")
    name = f"{prefix}_batch_norm"
    return call_op(
        "nn.relu", layers.batch_norm_infer(image, epsilon=eps, scale=False, axis=layout.index("C"), name=name)
    )


def get_net(
    batch_size: int,
    random_len: int = 100,
    oshape: Sequence[int] = (3, 64, 64),
    ngf: int = 128,
    code: Expr | None = None,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Function:
    """Return the generator of images of 64 pixels, of numbers between -1 and 1.

    ``oshape`` is that of an image, channels and two extents of 64, whatever the layout; ``code`` has the ``random_len``
    random numbers that it is made of, the variable ``data`` by default. Raises ArgumentError if the images are of
    another extent, or the layout is neither ``NCHW`` nor ``NHWC``.
    """
    if tuple(oshape[-2:]) != (64, 64) or layout not in ("NCHW", "NHWC"):
        raise ArgumentError(f"dcgan: images must be 64 by 64 and NCHW or NHWC, got {tuple(oshape)} and {layout}")

    def image(channels: int, extent: int) -> tuple[int, int, int]:
        return (channels, extent, extent) if layout == "NCHW" else (extent, extent, channels)

    numbers = network_input(batch_size, (random_len,), dtype) if code is None else code
    wide = ngf * 8
    body: Expr = call_op("nn.dense", numbers, var("dense_weight"), units=4 * 4 * wide)
    body = call_op("reshape", call_op("nn.relu", body), newshape=(-1, *image(wide, 4)))
    for index, (channels, extent) in enumerate(((ngf * 4, 8), (ngf * 2, 16), (ngf, 32)), 2):
        body = deconv2d_bn_relu(
            body, f"g{index}", image(channels * 2, extent // 2), image(channels, extent), (4, 4), layout
        )
    body = deconv2d(body, image(ngf, 32), image(oshape[0], 64), (4, 4), layout, "g5_deconv")
    result = call_op("tanh", body)
    return closed(result)


def get_workload(
    batch_size: int,
    oshape: Sequence[int] = (3, 64, 64),
    ngf: int = 128,
    random_len: int = 100,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> Workload:
    """Return the generator as a module, and first values of its parameters."""
    return create_workload(get_net(batch_size, random_len, oshape, ngf, layout=layout, dtype=dtype))
