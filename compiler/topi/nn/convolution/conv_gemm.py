"""Convolutions as one matrix product with tiled weights."""

from __future__ import annotations

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.nn.convolution.conv import ConvSpec, moved, pad_spatial, window_extent
from compiler.topi.operands import Extent, Index, dims, product, unflatten
from compiler.topi.tag import Tag

__all__ = ["conv2d_gemm_weight_transform", "conv2d_gemm_without_weight_transform"]

_UNROLLED_TILES = 4
"""Tiles of rows that a product takes at once: their number is a multiple of it."""


def gemm_tiles(rows: Extent, columns: Extent, tile_N: int, tile_K: int) -> tuple[Extent, Extent]:
    """Return the tiles along columns and rows of a weight whose rows are elements of a window, columns its channels."""
    group = tile_K * _UNROLLED_TILES
    return (columns + tile_N - 1) // tile_N, (rows + group - 1) // group * _UNROLLED_TILES


def has_rows_inside(dtype: str) -> bool:
    """Return whether the elements of the window are the inner axis of a tile: dot products of integers of 8 bits."""
    return dtype in ("int8", "uint8")


def conv2d_gemm_weight_transform(kernel: Tensor, tile_N: int, tile_K: int) -> Tensor:
    """Return the weight HWIO of a convolution as a matrix in tiles, zeros where they are not full.

    The result is ``(tiles of columns, tiles of rows, tile_K, tile_N)``; a row is an element of the window. The last two
    are exchanged for integers of 8 bits.
    """
    *window, outputs = dims(kernel)
    rows = product(window)
    across, down = gemm_tiles(rows, outputs, tile_N, tile_K)
    zero = tir.const(0, kernel.dtype)

    swapped = has_rows_inside(kernel.dtype)

    def element(n: Var, k: Var, first: Var, second: Var) -> PrimExpr:
        inner_k, inner_n = (second, first) if swapped else (first, second)
        row, column = k * tile_K + inner_k, n * tile_N + inner_n
        inside = te.all(row < rows, column < outputs)
        return te.if_then_else(inside, kernel(*unflatten(row, window), column), zero)

    tile = (tile_N, tile_K) if swapped else (tile_K, tile_N)
    return compute((across, down, *tile), element, name="weight_block_reshape", tag=Tag.INJECTIVE)


def conv2d_gemm_without_weight_transform(
    data: Tensor, weight: Tensor, spec: ConvSpec, kernel_size: tuple[int, ...], channels: int
) -> Tensor:
    """Return a convolution of data NHWC from what :func:`conv2d_gemm_weight_transform` makes of the weight."""
    batch, height, width, inputs = dims(data)
    out = [
        window_extent(size, spec.before[d], spec.after[d], kernel_size[d], spec.strides[d], spec.dilation[d])
        for d, size in enumerate((height, width))
    ]
    padded = pad_spatial(data, spec)
    swapped = has_rows_inside(weight.dtype)
    tile_n, tile_k = dims(weight)[2:] if swapped else dims(weight)[:1:-1]
    window = [te.reduce_axis((0, n), name=name) for n, name in zip(kernel_size, ("rh", "rw"), strict=True)]
    rc = te.reduce_axis((0, inputs), name="rc")

    def element(n: Var, h: Var, w: Var, c: Var) -> PrimExpr:
        row: Index = (window[0].var * kernel_size[1] + window[1].var) * inputs + rc.var
        a = padded(n, moved(h, window[0].var, spec, 0), moved(w, window[1].var, spec, 1), rc.var)
        inner = (c % tile_n, row % tile_k) if swapped else (row % tile_k, c % tile_n)
        b = weight(c // tile_n, row // tile_k, *inner)
        return te.sum(a.astype(spec.out_dtype) * b.astype(spec.out_dtype), axis=[*window, rc])

    return compute((batch, *out, channels), element, name="conv2d_gemm_output", tag=Tag.COMM_REDUCE)
