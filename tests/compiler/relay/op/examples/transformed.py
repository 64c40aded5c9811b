"""Examples of convolutions whose weight is transformed beforehand, and of buffers of earlier steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import relay
from compiler.relay.expr import Call
from compiler.relay.inference import infer_expr
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.topi.nn.convolution.winograd_packed import transformed_weight
from compiler.topi.nn.strassen import weight_of_products
from tests.compiler.relay.op.example import Array, Example, evaluate, floats, ints

nn = relay.nn

BFLOAT16 = numpy_dtype("bfloat16")


def _applied(make: Any, array: Array) -> Array:
    """Return what an operator's reference makes of an array."""
    variable = relay.var("w", shape=array.shape, dtype=str(array.dtype))
    call: Call = make(variable)
    infer_expr(call)
    return evaluate(call, {variable: array})


def _winograd(rank: int, weight: Array, data: Array, tile: int, padding: int) -> tuple[Example, Example]:
    """Return the transform of a weight, and the convolution with it, which is that with the weight as it was."""
    transform = getattr(nn, f"contrib_conv{rank}d_winograd_weight_transform")
    convolve = getattr(nn, f"contrib_conv{rank}d_winograd_without_weight_transform")
    size = {"channels": weight.shape[0], "kernel_size": weight.shape[2:], "padding": padding}
    x, w = relay.var("x", shape=data.shape), relay.var("w", shape=weight.shape)
    plain = getattr(nn, f"conv{rank}d")(x, w, **size)
    infer_expr(plain)
    wanted = evaluate(plain, {x: data, w: weight})
    transformed = _applied(lambda v: transform(v, tile), weight)
    return (
        Example(lambda v: transform(v, tile), [weight]),
        Example(lambda d, t: convolve(d, t, tile, **size), [data, transformed], wanted, tolerance=1e-3),
    )


_PLANES = _winograd(2, floats(3, 4, 3, 3), floats(2, 4, 9, 7), 4, 1)
_WIDE = _winograd(2, floats(2, 3, 5, 5), floats(1, 3, 8, 8), 2, 0)
_CUBES = _winograd(3, floats(2, 3, 3, 3, 3), floats(1, 3, 5, 6, 5), 2, 1)
_FLAT = _winograd(3, floats(2, 3, 1, 3, 3), floats(1, 3, 4, 6, 5), 4, 0)


def _in_blocks(kernel: Array, data: Array, padding: tuple[int, ...]) -> Example:
    """Return a convolution of blocks of 8 channels on transformed tiles, which is that with the weight as it was.

    Integers and bfloat16 are in pairs.
    """
    size = {"channels": kernel.shape[0] * 8, "kernel_size": (3, 3), "padding": padding}
    pairs = kernel.ndim == 7
    layouts = {"data_layout": "NCHW8c", "kernel_layout": "OIHW4i8o2i" if pairs else "OIHW8i8o", "out_layout": "NCHW8c"}
    size |= {"out_dtype": "int32" if kernel.dtype == "int16" else "float32"} if pairs else {}
    x, w = (relay.var(name, shape=a.shape, dtype=str(a.dtype)) for name, a in (("x", data), ("w", kernel)))
    plain = nn.contrib_conv2d_nchwc(x, w, **size, **layouts)
    infer_expr(plain)
    wanted = evaluate(plain, {x: data, w: kernel})
    weight = transformed_weight(kernel)
    layouts["kernel_layout"] = "OIHW4i8o2i" if weight.ndim == 6 else "OIHW8i8o"
    call = lambda d, t: nn.contrib_conv2d_winograd_nchwc(d, t, **size, **layouts)  # noqa: E731
    return Example(call, [data, weight], wanted, tolerance=1e-3)


_IMAGE, _VOLUME = floats(1, 2, 3, 4), floats(1, 2, 2, 3, 4)
_KERNEL = floats(3, 2, 5, 7)
_TILED = _applied(lambda v: nn.contrib_conv2d_gemm_weight_transform(v, 4, 16), _KERNEL)
_BYTES = ints(3, 2, 5, 7, dtype="int8")
_TILED_BYTES = _applied(lambda v: nn.contrib_conv2d_gemm_weight_transform(v, 4, 16), _BYTES)


def _of_quarters(products: int, data: Array, panels: Array) -> Example:
    """Return a product of matrices by sums of quarters, which is that with the weight as it was."""
    wanted = data @ panels.transpose(1, 0, 2).reshape(data.shape[-1], -1)
    return Example(nn.contrib_dense_strassen, [data, weight_of_products(panels, products)], wanted, tolerance=1e-4)


EXAMPLES: dict[str, list[Example]] = {
    "nn.contrib_dense_strassen": [
        _of_quarters(7, floats(1, 6, 8), floats(4, 8, 4)),
        _of_quarters(49, floats(4, 32), floats(4, 32, 8)),
    ],
    "nn.contrib_conv2d_winograd_weight_transform": [_PLANES[0], _WIDE[0]],
    "nn.contrib_conv2d_winograd_without_weight_transform": [_PLANES[1], _WIDE[1]],
    "nn.contrib_conv2d_winograd_NCHWc": [
        _in_blocks(floats(2, 3, 3, 3, 8, 8) / 16, floats(2, 3, 9, 14, 8), (1, 1, 1, 1)),
        _in_blocks(floats(3, 1, 3, 3, 8, 8) / 16, floats(1, 1, 7, 8, 8), (0, 1, 2, 0)),
        _in_blocks(ints(2, 3, 3, 3, 4, 8, 2, dtype="int16"), ints(1, 3, 7, 10, 8, dtype="int16"), (1, 0, 1, 1)),
        _in_blocks(
            *(floats(*shape).astype(BFLOAT16) for shape in ((2, 3, 3, 3, 4, 8, 2), (1, 3, 6, 9, 8))), (1, 1, 1, 1)
        ),
    ],
    "nn.contrib_conv3d_winograd_weight_transform": [_CUBES[0], _FLAT[0]],
    "nn.contrib_conv3d_winograd_without_weight_transform": [_CUBES[1], _FLAT[1]],
    "nn.contrib_conv2d_gemm_weight_transform": [
        Example(lambda w: nn.contrib_conv2d_gemm_weight_transform(w, 8, 2), [_KERNEL]),
        Example(lambda w: nn.contrib_conv2d_gemm_weight_transform(w, 4, 16), [_BYTES]),
    ],
    "nn.contrib_conv2d_gemm_without_weight_transform": [
        Example(
            lambda x, w: nn.contrib_conv2d_gemm_without_weight_transform(
                x, w, (2, 1), (1, 0), channels=7, kernel_size=(3, 2), data_layout="NHWC", kernel_layout="HWIO"
            ),
            [floats(2, 6, 7, 5), _TILED],
            tolerance=1e-4,
        ),
        Example(
            lambda x, w: nn.contrib_conv2d_gemm_without_weight_transform(
                x, w, channels=7, kernel_size=(3, 2), data_layout="NHWC", kernel_layout="HWIO", out_dtype="int32"
            ),
            [ints(1, 5, 4, 5, dtype="int8"), _TILED_BYTES],
        ),
    ],
    "dyn.nn.pad": [
        Example(
            lambda x, w: nn.pad(x, w, 1.5),
            [floats(2, 3), np.array([[0, 1], [2, 0]], "int64")],
            np.pad(floats(2, 3), [(0, 1), (2, 0)], constant_values=1.5),
        )
    ],
    "dyn.nn.upsampling": [
        Example(
            lambda x, h, w: nn.upsampling(x, h, w),
            [_IMAGE, np.array(2, "float32"), np.array(3, "float32")],
            _IMAGE.repeat(2, 2).repeat(3, 3),
        )
    ],
    "dyn.nn.upsampling3d": [
        Example(
            lambda x, d: nn.upsampling3d(x, d, 1, 2, coordinate_transformation_mode="asymmetric"),
            [_VOLUME, np.array(2, "float32")],
            _VOLUME.repeat(2, 2).repeat(2, 4),
        )
    ],
    "dyn.image.resize1d": [
        Example(lambda x, n: relay.image.resize1d(x, n), [floats(1, 2, 4), np.array([4], "int64")], floats(1, 2, 4))
    ],
    "dyn.image.resize2d": [
        Example(
            lambda x, n: relay.image.resize2d(x, n, None, "NCHW", "nearest_neighbor", "asymmetric"),
            [_IMAGE, np.array([6, 4], "int64")],
            _IMAGE.repeat(2, 2),
        )
    ],
    "dyn.image.resize3d": [
        Example(
            lambda x, n: relay.image.resize3d(x, n, None, "NCDHW", "nearest_neighbor", "asymmetric"),
            [_VOLUME, np.array([2, 3, 8], "int64")],
            _VOLUME.repeat(2, 4),
        )
    ],
    "nn.fifo_buffer": [
        Example(lambda x, b: nn.fifo_buffer(x, b, axis=1), [floats(2, 2, 3), floats(2, 5, 3)]),
        Example(lambda x, b: nn.fifo_buffer(x, b, axis=-1), [floats(2, 5), floats(2, 5, seed=1)]),
    ],
}
