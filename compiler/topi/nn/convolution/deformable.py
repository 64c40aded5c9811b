"""Deformable convolutions: each window element has its own offset.

References
----------
J. Dai et al., "Deformable Convolutional Networks", ICCV 2017, section 2.1.
"""

from __future__ import annotations

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.compute import compute
from compiler.topi.nn.convolution.conv import ConvSpec, group_channel, window_extent
from compiler.topi.operands import Extent, Index, dims
from compiler.topi.tag import Tag


def deformable_conv2d(data: Tensor, offset: Tensor, kernel: Tensor, spec: ConvSpec, deformable_groups: int) -> Tensor:
    """Return the convolution of data read at places that are moved by offsets.

    The data is read between its elements, and is zero outside. What windows read is stored, and then summed. The
    channels of ``offset``, ``2 * deformable_groups * window`` of them, are the row and the column by which each element
    of a window is moved, for each group of channels.
    """
    source, weights, result = (layout(n) for n in (spec.data_layout, spec.kernel_layout, spec.out_layout))
    x, w = source.extents(dims(data)), weights.extents(dims(kernel))
    out = [
        window_extent(x[letter], spec.before[d], spec.after[d], w[letter], spec.strides[d], spec.dilation[d])
        for d, letter in enumerate("HW")
    ]
    share = x["C"] // deformable_groups

    def sample(n: Var, c: Var, i: Var, j: Var, y: Var, x_: Var) -> PrimExpr:
        tap = ((c // share) * w["H"] + i) * w["W"] + j
        place: list[PrimExpr] = []
        for d, (at, window) in enumerate(((y, i), (x_, j))):
            moved = offset(*source.indices({"N": n, "C": tap * 2 + d, "H": y, "W": x_}))
            start = at * spec.strides[d] - spec.before[d] + window * spec.dilation[d]
            place.append(start.astype(moved.dtype) + moved)
        return _between(data, {"N": n, "C": c}, place, (x["H"], x["W"]), spec)

    shape = (x["N"], x["C"], w["H"], w["W"], *out)
    samples = compute(shape, sample, name="samples", tag=Tag.STAGED)
    rc = te.reduce_axis((0, w["I"]), name="rc")
    window = [te.reduce_axis((0, w[letter]), name=f"r{letter.lower()}") for letter in "HW"]

    def element(*at: Var) -> PrimExpr:
        here = result.point(at)
        channel = group_channel(here["C"], rc.var, w["O"], w["I"], spec.groups)
        taps = [axis.var for axis in window]
        value = samples(here["N"], channel, *taps, here["H"], here["W"])
        weight = kernel(*weights.indices({"O": here["C"], "I": rc.var, "H": taps[0], "W": taps[1]}))
        return te.sum(value.astype(spec.out_dtype) * weight.astype(spec.out_dtype), axis=[rc, *window])

    extents: dict[str, Extent] = {"N": x["N"], "C": w["O"], "H": out[0], "W": out[1]}
    return compute(result.shape(extents), element, name="deformable_conv2d", tag=Tag.CONV)


def _between(
    data: Tensor, point: dict[str, Index], place: list[PrimExpr], extents: tuple[Extent, Extent], spec: ConvSpec
) -> PrimExpr:
    """Return the data at a place between its elements; zero outside."""
    source, dtype = layout(spec.data_layout), data.dtype
    taps: list[list[tuple[PrimExpr, PrimExpr]]] = []
    inside: list[PrimExpr] = []
    for at, extent in zip(place, extents, strict=True):
        low = te.floor(at)
        first = te.max(te.min(low.astype("int32"), extent - 1), 0)
        beyond = tir.Select(first + 1 < extent, at - low, tir.const(0, at.dtype))
        taps.append([(first, 1 - (at - low)), (te.min(first + 1, extent - 1), beyond)])
        inside += [at >= 0, at < extent]
    total: PrimExpr = tir.const(0, dtype)
    for row, by_row in taps[0]:
        for column, by_column in taps[1]:
            value = data(*source.indices({**point, "H": row, "W": column}))
            total = total + value * (by_row * by_column).astype(dtype)
    return te.if_then_else(te.all(*inside), total, tir.const(0, dtype))
