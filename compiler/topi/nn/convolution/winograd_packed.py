"""Winograd's minimal filtering of 3 x 3 windows, with channels in blocks as wide as a vector.

Each tile of 4 x 4 outputs is computed from 6 x 6 inputs by 36 products for each pair of channels, instead of 144.

References
----------
A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from compiler import te, tir
from compiler.arith.minimal_filtering import Matrix, combination, select, transform_arrays
from compiler.ir.dtype import is_float
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.nn.convolution.conv import ConvSpec
from compiler.topi.nn.pad import pad
from compiler.topi.nn.product_sums import products_per_step, step_sum
from compiler.topi.operands import constant, dims
from compiler.topi.tag import Tag

__all__ = ["POINTS", "TILE", "WINDOW", "conv2d_winograd_nchwc", "is_worth_winograd", "transformed_weight"]

TILE, WINDOW = 4, 3
POINTS = TILE + WINDOW - 1
"""Values that the data's tile and the window, as polynomials, are multiplied at, along each dimension."""
_USUAL = transform_arrays(TILE, WINDOW)
_SCALE = 24
"""What makes the weights' matrix one of integers."""
_SHIFT, _INVERSE = 6, pow(9, -1, 2**32)
"""The scale along both dimensions is ``2**6 * 9``; 9 has an inverse modulo ``2**32``."""
_DATA_STEPS, _OUTPUT_STEPS = 2 * POINTS**2 * (POINTS - 1), (POINTS + TILE) * TILE * (POINTS - 1)
"""Multiply-adds of the transforms of a tile of one channel."""
_LOADS = {"float32": 15, "bfloat16": 15, "int16": 20}
"""Multiply-adds that take as long as to load a weight, which in a model comes from behind the second cache.

Measured are 6 on a Zen 4 and 30 on a busy Emerald Rapids, of float32: between them, what one gains the other does not
lose."""
_GAIN = 1.25
"""How much less work the transformed convolution must be, as its steps leave their results in memory."""


def is_worth_winograd(channels: int, outputs: int, batch: int, height: int, width: int, dtype: str = "float32") -> bool:
    """Return whether a convolution of 3 x 3, whose result has these extents, is faster on transformed tiles.

    Of bfloat16 an instruction adds two products, but none of the ``float32`` that the tiles are transformed to.
    """
    tiles = batch * -(-height // TILE) * -(-width // TILE)
    pairs = channels * outputs

    def work(taps: int, elements: int) -> int:
        return taps * pairs * (elements + _LOADS[dtype])

    transforms = tiles * (_DATA_STEPS * channels + _OUTPUT_STEPS * outputs)
    sums = work(WINDOW**2, batch * height * width) // (2 if dtype == "bfloat16" else 1)
    return (work(POINTS**2, tiles) + transforms) * _GAIN < sums


def _integer_arrays() -> tuple[Matrix, Matrix, Matrix]:
    """Return matrices of integers, by which outputs are :data:`_SCALE` times as large along each dimension."""
    outputs, data, weights = transform_arrays(TILE, WINDOW, (0.0, -1.0, 1.0, 2.0, -2.0))
    shares = np.array([_SCALE] * (POINTS - 1) + [_SCALE / 2])[:, None]
    return np.rint(outputs * _SCALE / shares), np.rint(data), np.rint(weights * shares)


_INTEGERS = _integer_arrays()


def transform_matrices(dtype: str) -> tuple[Matrix, Matrix, Matrix]:
    """Return the matrices by which outputs, data and weights of a data type are transformed, a row for each point."""
    return _USUAL if dtype == "float32" else _INTEGERS


def transformed_weight(kernel: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a weight ``(O / o, C / i, 3, 3, i, o)`` as ``(36, O / o, C / i, i, o)`` for the convolution below.

    Integers in pairs, ``(O / o, C / i, 3, 3, i / 2, o, 2)``, stay so; pairs of bfloat16 become single ``float32``, as
    values at points have more digits than those that they are made of.
    """
    if str(kernel.dtype) == "bfloat16":
        outer, inputs, rows, columns, inner, block, pair = kernel.shape
        single = kernel.astype("float32").swapaxes(-1, -2)
        kernel = single.reshape(outer, inputs, rows, columns, inner * pair, block)
    *_, weights = transform_matrices(str(kernel.dtype))
    windows = np.moveaxis(kernel, (2, 3), (0, 1)).reshape(WINDOW**2, -1)
    values = np.kron(weights, weights) @ windows.astype("float64")
    return np.ascontiguousarray(values.reshape(POINTS**2, *kernel.shape[:2], *kernel.shape[4:]), kernel.dtype)


def is_exact(kernel: npt.NDArray[np.int16], largest: int) -> bool:
    """Return whether the convolution below is exact for 16-bit integers, of which those of the data have a bound.

    Values at points have to fit into 16 bits, and the results times the power of two in the scale into 32: all in
    between may wrap around, and an odd factor has an inverse.
    """
    _, data, weights = (np.abs(m).sum(axis=a).max() ** 2 for m, a in zip(_INTEGERS, (1, 0, 1), strict=True))
    magnitude = np.abs(kernel.astype("int64"))
    sums = magnitude.sum(axis=(1, 2, 3, 4, *range(6, kernel.ndim))).max()
    return bool(max(data * largest, weights * magnitude.max()) < 2**15 and sums * largest << _SHIFT < 2**31)


def conv2d_winograd_nchwc(data: Tensor, weight: Tensor, spec: ConvSpec) -> Tensor:
    """Return a convolution of images ``(N, C / i, H, W, i)``, with steps of 1, from :func:`transformed_weight`.

    Of ``spec`` its padding is used.  The result is ``(N, O / o, out_h, out_w, o)``.
    """
    outputs, by_data, _ = transform_matrices(weight.dtype)
    batch, _, height, width, inner = dims(data)
    sizes = [constant(e, "conv2d_winograd_nchwc") for e in (batch, height, width)]
    _, outer, inputs, _, block, *side = dims(weight)
    out = [e + b + a - WINDOW + 1 for e, b, a in zip(sizes[1:], spec.before, spec.after, strict=True)]
    down, across = (-(-e // TILE) for e in out)
    fill = [t * TILE - e for t, e in zip((down, across), out, strict=True)]
    after = [a + f for a, f in zip(spec.after, fill, strict=True)]
    padded = pad(data, [0, 0, *spec.before, 0], [0, 0, *after, 0], name="data_pad")

    def along_columns(n: Var, c: Var, y: Var, x: Var, p: Var, s: Var, i: Var) -> PrimExpr:
        taken = [padded(n, c, y * TILE + r, x * TILE + s, i).astype(weight.dtype) for r in range(POINTS)]
        return select(p, [combination(taken, by_data[:, k]) for k in range(POINTS)])

    columns = compute(
        (batch, inputs, down, across, POINTS, POINTS, inner), along_columns, "data_columns", Tag.WINOGRAD_STEP
    )

    def along_rows(p: Var, q: Var, c: Var, t: Var, i: Var) -> PrimExpr:
        row, x = t // across, t % across
        taken = [columns(row // down, c, row % down, x, p, s, i) for s in range(POINTS)]
        return select(q, [combination(taken, by_data[:, k]) for k in range(POINTS)])

    tiles = sizes[0] * down * across
    values = compute((POINTS, POINTS, inputs, tiles, inner), along_rows, "data_points", Tag.WINOGRAD_STEP)
    count = products_per_step(inner, (weight.dtype, weight.dtype), spec.out_dtype)
    ic, ii = te.reduce_axis((0, inputs), name="ic"), te.reduce_axis((0, inner // count), name="ii")

    def multiplied(p: Var, q: Var, o: Var, t: Var, b: Var) -> PrimExpr:
        def term(i: PrimExpr) -> PrimExpr:
            of_input = (i // side[0], b, i % side[0]) if side else (i, b)
            x, y = values(p, q, ic.var, t, i), weight(p * POINTS + q, o, ic.var, *of_input)
            return x.astype(spec.out_dtype) * y.astype(spec.out_dtype)

        return te.sum(step_sum(ii.var, count, term), axis=[ic, ii])

    products = compute((POINTS, POINTS, outer, tiles, block), multiplied, "products", Tag.MATMUL)

    def back_along_columns(n: Var, o: Var, y: Var, x: Var, h: Var, q: Var, b: Var) -> PrimExpr:
        taken = [products(p, q, o, (n * down + y) * across + x, b) for p in range(POINTS)]
        return select(h, [combination(taken, outputs[:, k]) for k in range(TILE)])

    back = compute(
        (batch, outer, down, across, TILE, POINTS, block), back_along_columns, "result_columns", Tag.WINOGRAD_STEP
    )

    def unscaled(value: PrimExpr) -> PrimExpr:
        if is_float(value.dtype):
            return value
        return tir.shift_right(value * tir.const(_INVERSE, value.dtype), tir.const(_SHIFT, value.dtype))

    def element(n: Var, o: Var, h: Var, w: Var, b: Var) -> PrimExpr:
        taken = [back(n, o, h // TILE, w // TILE, h % TILE, q, b) for q in range(POINTS)]
        return select(w % TILE, [unscaled(combination(taken, outputs[:, k])) for k in range(TILE)])

    return compute((batch, outer, *out, block), element, "conv", Tag.CONV_WINOGRAD)
