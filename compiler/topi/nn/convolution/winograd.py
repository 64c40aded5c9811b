"""Winograd convolutions: fewer multiplications, on transformed tiles."""

from __future__ import annotations

from collections.abc import Sequence

from compiler import te, tir
from compiler.arith.minimal_filtering import transform_arrays
from compiler.ir.expr.primexpr import IterVar, PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.nn.convolution.conv import ConvSpec
from compiler.topi.nn.pad import pad
from compiler.topi.operands import Extent, constant, dims
from compiler.topi.tag import Tag
from compiler.topi.utils import const_matrix

__all__ = [
    "conv2d_winograd_weight_transform", "conv3d_winograd_weight_transform", "winograd_conv",
    "winograd_transform_matrices",
]  # fmt: skip


def winograd_transform_matrices(tile_size: int, kernel_size: int, out_dtype: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return the matrices A, B and G of the transforms: ``y = A^T ((G g) * (B^T d))``.

    A and G have a row for each of the ``tile_size + kernel_size - 1`` points. Raises ArgumentError if there are not as
    many points.
    """
    outputs, data, weights = (m.astype(out_dtype) for m in transform_arrays(tile_size, kernel_size))
    return const_matrix(outputs, "A"), const_matrix(data, "B"), const_matrix(weights, "G")


def _product(parts: Sequence[PrimExpr]) -> PrimExpr:
    result = parts[0]
    for part in parts[1:]:
        result = result * part
    return result


def _axes(extents: Sequence[Extent], name: str) -> list[IterVar]:
    return [te.reduce_axis((0, n), name=f"{name}{d}") for d, n in enumerate(extents)]


def _transformed(kernel: Tensor, tile_size: int, plain: int, name: str) -> Tensor:
    """Return ``(*points, *plain, O, I)``: the first ``plain`` spatial dimensions stay as they are."""
    outputs, inputs, *spatial = dims(kernel)
    size = constant(spatial[-1], name)
    *_, weights = winograd_transform_matrices(tile_size, size, kernel.dtype)
    count, alpha = len(spatial) - plain, tile_size + size - 1
    taps = _axes([size] * count, "r")

    def element(*at: Var) -> PrimExpr:
        points, rest, (o, i) = at[:count], at[count:-2], at[-2:]
        parts = [weights(p, r.var) for p, r in zip(points, taps, strict=True)]
        return te.sum(_product([kernel(o, i, *rest, *(r.var for r in taps)), *parts]), axis=taps)

    shape = (*[alpha] * count, *spatial[:plain], outputs, inputs)
    return compute(shape, element, name="transform_weight", tag=Tag.COMM_REDUCE)


def conv2d_winograd_weight_transform(kernel: Tensor, tile_size: int) -> Tensor:
    """Return the weight ``(O, I, k, k)`` of a convolution for :func:`winograd_conv`, by tiles of ``tile_size`` outputs.

    It is ``(tile_size + k - 1, tile_size + k - 1, O, I)``.
    """
    return _transformed(kernel, tile_size, 0, "conv2d_winograd_weight_transform")


def transforms_depth(kernel_size: Sequence[int]) -> bool:
    """Return whether the depth of a three-dimensional window is transformed too: if it is as deep as wide."""
    depth, height, _ = kernel_size
    return 2 < depth < 8 and depth == height


def conv3d_winograd_weight_transform(kernel: Tensor, tile_size: int) -> Tensor:
    """Return the weight ``(O, I, d, k, k)`` of a convolution for :func:`winograd_conv`.

    It is ``(alpha, alpha, alpha, O, I)`` with ``alpha = tile_size + k - 1`` if ``d`` is ``k``; else
    ``(alpha, alpha, d, O, I)``, whose depth is as it was.
    """
    size = [constant(e, "conv3d_winograd_weight_transform") for e in dims(kernel)[2:]]
    return _transformed(kernel, tile_size, 0 if transforms_depth(size) else 1, "conv3d_winograd_weight_transform")


def _tile_values(padded: Tensor, matrix: Tensor, tile_size: int, tiles: Sequence[Extent], dtype: str) -> Tensor:
    """Return the values of the data's tiles at the points, ``(*points, N, C, *plain dimensions, *tiles)``."""
    batch, channels, *spatial = dims(padded)
    count, alpha = len(tiles), dims(matrix)[0]
    taken = _axes([alpha] * count, "r")

    def element(*at: Var) -> PrimExpr:
        points, (n, c), rest, places = at[:count], at[count : count + 2], at[count + 2 : -count], at[-count:]
        read = [t * tile_size + r.var for t, r in zip(places, taken, strict=True)]
        parts = [matrix(r.var, p) for r, p in zip(taken, points, strict=True)]
        return te.sum(_product([padded(n, c, *rest, *read).astype(dtype), *parts]), axis=taken)

    shape = (*[alpha] * count, batch, channels, *spatial[: len(spatial) - count], *tiles)
    return compute(shape, element, name="data_pack", tag=Tag.COMM_REDUCE)


def winograd_conv(data: Tensor, weight: Tensor, spec: ConvSpec, tile_size: int, plain: int = 0) -> Tensor:
    """Return a convolution with steps of 1 from a weight that was transformed.

    The weight is ``(*points, *plain spatial dimensions, O, C)``: ``plain`` spatial dimensions, from the first, are not
    transformed.  Of ``spec`` its padding and its data type are used.

    References
    ----------
    A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, section 4.1.
    """
    batch, channels = dims(data)[:2]
    spatial = [constant(e, "winograd_conv") for e in dims(data)[2:]]
    count, outputs = len(spatial) - plain, dims(weight)[-2]
    alpha, *depths = (constant(e, "winograd_conv") for e in dims(weight)[count - 1 : -2])
    size = alpha - tile_size + 1
    taps = [*depths, *[size] * count]
    out = [e + b + a - k + 1 for e, b, a, k in zip(spatial, spec.before, spec.after, taps, strict=True)]
    tiles = [(e + tile_size - 1) // tile_size for e in out[plain:]]
    fill = [0] * plain + [t * tile_size - e for t, e in zip(tiles, out[plain:], strict=True)]
    after = [a + f for a, f in zip(spec.after, fill, strict=True)]
    padded = pad(data, [0, 0, *spec.before], [0, 0, *after], name="data_pad")
    by_output, by_data, _ = winograd_transform_matrices(tile_size, size, spec.out_dtype)
    values = _tile_values(padded, by_data, tile_size, tiles, spec.out_dtype)
    rc, rd = te.reduce_axis((0, channels), name="rc"), _axes(depths, "rd")

    def multiplied(*at: Var) -> PrimExpr:
        points, (n, o), rest, places = at[:count], at[count : count + 2], at[count + 2 : -count], at[-count:]
        deep = [z + k.var for z, k in zip(rest, rd, strict=True)]
        x = values(*points, n, rc.var, *deep, *places)
        return te.sum(weight(*points, *[k.var for k in rd], o, rc.var).astype(spec.out_dtype) * x, axis=[rc, *rd])

    shape = (*[alpha] * count, batch, outputs, *out[:plain], *tiles)
    products = compute(shape, multiplied, name="bgemm", tag=Tag.COMM_REDUCE)
    points = _axes([alpha] * count, "p")

    def element(n: Var, o: Var, *at: Var) -> PrimExpr:
        rest, here = at[:plain], at[plain:]
        parts = [by_output(p.var, tir.indexmod(h, tile_size)) for p, h in zip(points, here, strict=True)]
        places = [tir.indexdiv(h, tile_size) for h in here]
        return te.sum(_product([products(*[p.var for p in points], n, o, *rest, *places), *parts]), axis=points)

    return compute((batch, outputs, *out), element, name="winograd", tag=Tag.COMM_REDUCE)
