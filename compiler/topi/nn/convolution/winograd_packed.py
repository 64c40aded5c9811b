"""Winograd's minimal filtering of 3 x 3 windows, with channels in blocks as wide as a vector.

Each tile of 4 x 4 outputs is computed from 6 x 6 inputs by 36 products for each pair of channels, instead of 144.

References
----------
A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Select, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.nn.convolution.conv import ConvSpec
from compiler.topi.nn.convolution.winograd import transform_arrays
from compiler.topi.nn.pad import pad
from compiler.topi.operands import constant, dims
from compiler.topi.tag import Tag

__all__ = ["POINTS", "TILE", "WINDOW", "conv2d_winograd_nchwc", "is_worth_winograd", "transformed_weight"]

TILE, WINDOW = 4, 3
POINTS = TILE + WINDOW - 1
"""Values that the data's tile and the window, as polynomials, are multiplied at, along each dimension."""
_OUTPUTS, _DATA, _WEIGHTS = transform_arrays(TILE, WINDOW)
_DATA_STEPS, _OUTPUT_STEPS = 2 * POINTS**2 * (POINTS - 1), (POINTS + TILE) * TILE * (POINTS - 1)
"""Multiply-adds of the transforms of a tile of one channel."""
_LOAD = 30
"""Multiply-adds that take as long as to load a weight, which in a model comes from behind the second cache."""
_GAIN = 1.25
"""How much less work the transformed convolution must be, as its steps leave their results in memory."""


def is_worth_winograd(channels: int, outputs: int, batch: int, height: int, width: int) -> bool:
    """Return whether a convolution of 3 x 3, whose result has these extents, is faster on transformed tiles."""
    tiles = batch * -(-height // TILE) * -(-width // TILE)
    pairs = channels * outputs

    def work(taps: int, elements: int) -> int:
        return taps * pairs * (elements + _LOAD)

    transforms = tiles * (_DATA_STEPS * channels + _OUTPUT_STEPS * outputs)
    return (work(POINTS**2, tiles) + transforms) * _GAIN < work(WINDOW**2, batch * height * width)


def transformed_weight(kernel: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return a weight ``(O / o, C / i, 3, 3, i, o)`` as ``(36, O / o, C / i, i, o)`` for the convolution below."""
    values = np.einsum("pr,abrsio,qs->pqabio", _WEIGHTS, kernel.astype("float64"), _WEIGHTS, optimize=True)
    return np.ascontiguousarray(values.reshape(POINTS**2, *values.shape[2:]), kernel.dtype)


def _sum(terms: Sequence[PrimExpr], factors: npt.NDArray[np.float64]) -> PrimExpr:
    """Return the sum of products with constants, of those that are not zero."""
    parts = [
        term if factor == 1 else term * tir.const(float(factor), term.dtype)
        for term, factor in zip(terms, factors, strict=True)
        if factor
    ]
    result = parts[0]
    for part in parts[1:]:
        result = result + part
    return result


def _at(place: PrimExpr, values: Sequence[PrimExpr]) -> PrimExpr:
    """Return the value at a place, of which an unrolled loop leaves the one."""
    result = values[-1]
    for number, value in reversed([*enumerate(values[:-1])]):
        result = Select(place.equal(number), value, result)
    return result


def conv2d_winograd_nchwc(data: Tensor, weight: Tensor, spec: ConvSpec) -> Tensor:
    """Return a convolution of images ``(N, C / i, H, W, i)``, with steps of 1, from :func:`transformed_weight`.

    Of ``spec`` its padding is used.  The result is ``(N, O / o, out_h, out_w, o)``.
    """
    batch, _, height, width, inner = dims(data)
    sizes = [constant(e, "conv2d_winograd_nchwc") for e in (batch, height, width)]
    _, outer, inputs, _, block = dims(weight)
    out = [e + b + a - WINDOW + 1 for e, b, a in zip(sizes[1:], spec.before, spec.after, strict=True)]
    down, across = (-(-e // TILE) for e in out)
    fill = [t * TILE - e for t, e in zip((down, across), out, strict=True)]
    after = [a + f for a, f in zip(spec.after, fill, strict=True)]
    padded = pad(data, [0, 0, *spec.before, 0], [0, 0, *after, 0], name="data_pad")

    def along_columns(n: Var, c: Var, y: Var, x: Var, p: Var, s: Var, i: Var) -> PrimExpr:
        taken = [padded(n, c, y * TILE + r, x * TILE + s, i) for r in range(POINTS)]
        return _at(p, [_sum(taken, _DATA[:, k]) for k in range(POINTS)])

    columns = compute(
        (batch, inputs, down, across, POINTS, POINTS, inner), along_columns, "data_columns", Tag.WINOGRAD_STEP
    )

    def along_rows(p: Var, q: Var, c: Var, t: Var, i: Var) -> PrimExpr:
        row, x = t // across, t % across
        taken = [columns(row // down, c, row % down, x, p, s, i) for s in range(POINTS)]
        return _at(q, [_sum(taken, _DATA[:, k]) for k in range(POINTS)])

    tiles = sizes[0] * down * across
    values = compute((POINTS, POINTS, inputs, tiles, inner), along_rows, "data_points", Tag.WINOGRAD_STEP)
    ic, ii = te.reduce_axis((0, inputs), name="ic"), te.reduce_axis((0, inner), name="ii")

    def multiplied(p: Var, q: Var, o: Var, t: Var, b: Var) -> PrimExpr:
        return te.sum(values(p, q, ic.var, t, ii.var) * weight(p * POINTS + q, o, ic.var, ii.var, b), axis=[ic, ii])

    products = compute((POINTS, POINTS, outer, tiles, block), multiplied, "products", Tag.MATMUL)

    def back_along_columns(n: Var, o: Var, y: Var, x: Var, h: Var, q: Var, b: Var) -> PrimExpr:
        taken = [products(p, q, o, (n * down + y) * across + x, b) for p in range(POINTS)]
        return _at(h, [_sum(taken, _OUTPUTS[:, k]) for k in range(TILE)])

    back = compute(
        (batch, outer, down, across, TILE, POINTS, block), back_along_columns, "result_columns", Tag.WINOGRAD_STEP
    )

    def element(n: Var, o: Var, h: Var, w: Var, b: Var) -> PrimExpr:
        taken = [back(n, o, h // TILE, w // TILE, h % TILE, q, b) for q in range(POINTS)]
        return _at(w % TILE, [_sum(taken, _OUTPUTS[:, k]) for k in range(TILE)])

    return compute((batch, outer, *out, block), element, "conv", Tag.CONV_WINOGRAD)
