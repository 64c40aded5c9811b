"""Layer, group and instance normalisation of ``tvm.topi.nn``."""

from __future__ import annotations

from collections.abc import Sequence

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.nn.norm import join_axis, normalize, split_axis
from compiler.topi.operands import Axes, Extent, Index, axes_of, axis_of, dims, product
from compiler.topi.tag import Tag

__all__ = [
    "group_norm", "instance_norm", "layer_norm", "rms_norm", "scale_shift_nchw", "scale_shift_nchwc",
    "scale_shift_nhwc",
]  # fmt: skip


def layer_norm(data: Tensor, gamma: Tensor, beta: Tensor | None, axis: Axes, epsilon: float = 1e-05) -> Tensor:
    """Return the data less its mean, divided by its standard deviation, over some axes; scaled and shifted.

    The shape of ``gamma`` and ``beta`` is that of the data along the axes; ``epsilon`` is added to the variance.

    References
    ----------
    Ba, Kiros and Hinton, "Layer Normalization", arXiv:1607.06450, 2016.
    """
    axes = axes_of(axis, data.ndim, "layer_norm")

    def affine(value: PrimExpr, at: Sequence[Index]) -> PrimExpr:
        here = [at[d] for d in axes]
        return value * gamma(*here) + (beta(*here) if beta is not None else 0)

    return normalize(data, axes, epsilon, affine)


def instance_norm(data: Tensor, gamma: Tensor, beta: Tensor, axis: Axes, epsilon: float = 1e-05) -> Tensor:
    """Return each channel of each image less its mean, divided by its standard deviation; scaled and shifted.

    The shape of ``gamma`` and ``beta`` is that of the data along the axes; ``epsilon`` is added to the variance.

    References
    ----------
    Ulyanov, Vedaldi and Lempitsky, "Instance Normalization", arXiv:1607.08022, 2016.
    """
    return layer_norm(data, gamma, beta, axis, epsilon)


def group_norm(
    data: Tensor, gamma: Tensor | None, beta: Tensor | None, num_groups: int, channel_axis: int, axes: Sequence[int],
    epsilon: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Return groups of channels less their mean, divided by their standard deviation; scaled and shifted.

    ``gamma`` and ``beta`` have an element for each channel; ``axes`` are normalised besides the channels of a group;
    ``epsilon`` is added to the variance.

    References
    ----------
    Wu and He, "Group Normalization", ECCV 2018.
    """
    channel = axis_of(channel_axis, data.ndim, "group_norm")
    parts = split_axis(data, channel, num_groups)
    each = dims(parts)[channel + 1]
    over = [channel + 1, *[d + (d > channel) for d in axes_of(axes, data.ndim, "group_norm")]]

    def affine(value: PrimExpr, at: Sequence[Index]) -> PrimExpr:
        here = at[channel] * each + at[channel + 1]
        value = value * gamma(here) if gamma is not None else value
        return value + beta(here) if beta is not None else value

    return join_axis(normalize(parts, sorted(over), epsilon, affine), channel)


def rms_norm(data: Tensor, weight: Tensor, axis: Axes, epsilon: float = 1e-05) -> Tensor:
    """Return the data divided by the root of its mean square over some axes, and scaled.

    Sums are of type float32, whatever that of the data.  The shape of ``weight`` is that of the data along the axes;
    ``epsilon`` is added to the mean square.

    References
    ----------
    Zhang and Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019.
    """
    axes = axes_of(axis, data.ndim, "rms_norm")
    extents = dims(data)
    others = [d for d in range(data.ndim) if d not in axes]
    window = {d: te.reduce_axis((0, extents[d]), name=f"r{d}") for d in axes}
    wide = "float32" if data.dtype in ("float16", "bfloat16") else data.dtype
    count: Extent = product([extents[d] for d in axes])
    by = tir.const(count, wide) if isinstance(count, int) else count.astype(wide)

    def square(*i: Index) -> PrimExpr:
        here = dict(zip(others, i, strict=True)) | {d: axis.var for d, axis in window.items()}
        value = data(*[here[d] for d in range(data.ndim)]).astype(wide)
        return te.sum(value * value, axis=list(window.values()))

    squares = compute([extents[d] for d in others], square, name="squares", tag=Tag.COMM_REDUCE)
    inverse = compute(
        squares.shape,
        lambda *i: te.rsqrt(squares(*i) / by + tir.const(epsilon, wide)),
        name="inverse",
        tag=Tag.ELEMWISE,
    )

    def element(*i: Index) -> PrimExpr:
        value = data(*i).astype(wide) * inverse(*[i[d] for d in others])
        return (value * weight(*[i[d] for d in axes]).astype(wide)).astype(data.dtype)

    return compute(extents, element, name="rms_norm", tag=Tag.NORMALIZE)


def _scale_shift(data: Tensor, scale: Tensor, shift: Tensor, axes: Sequence[int]) -> Tensor:
    def element(*i: Index) -> PrimExpr:
        here = [i[d] for d in axes]
        return data(*i) * scale(*here) + shift(*here)

    return compute(dims(data), element, name="ScaleShift", tag=Tag.BROADCAST)


def scale_shift_nchw(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Return data of layout NCHW with its channels scaled and shifted, by vectors."""
    return _scale_shift(Input, Scale, Shift, (1,))


def scale_shift_nhwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Return data of layout NHWC with its channels scaled and shifted, by vectors."""
    return _scale_shift(Input, Scale, Shift, (3,))


def scale_shift_nchwc(Input: Tensor, Scale: Tensor, Shift: Tensor) -> Tensor:
    """Return data ``(N, C / c, H, W, c)`` with its channels scaled and shifted, by tensors ``(C / c, c)``."""
    return _scale_shift(Input, Scale, Shift, (1, 4))
