"""Convolutions over images with channels packed in blocks of vector width (NCHWc)."""

from __future__ import annotations

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.nn.convolution.conv import ConvSpec, group_channel, moved, pad_spatial, window_extent
from compiler.topi.nn.product_sums import missing_products, products_per_step, step_sum
from compiler.topi.operands import Extent, dims
from compiler.topi.tag import Tag

_FOUR = 4


def _out(data: Tensor, window: tuple[Extent, Extent], spec: ConvSpec) -> list[Extent]:
    """Return the height and width of the result."""
    return [
        window_extent(size, spec.before[d], spec.after[d], k, spec.strides[d], spec.dilation[d])
        for d, (size, k) in enumerate(zip(dims(data)[2:4], window, strict=True))
    ]


def conv2d_nchwc(data: Tensor, kernel: Tensor, spec: ConvSpec) -> Tensor:
    """Return a convolution of images whose channels stand in blocks, ``(N, O / o, out_h, out_w, o)``.

    Data are ``(N, C / i, H, W, i)``, the kernel is ``(O / o, C / g / i, kh, kw, i, o)``, for ``g`` groups; no block of
    channels, neither of the data nor of the result, belongs to two groups. With ``s`` channels side by side, whose
    products are added at once, the kernel is ``(O / o, C / g / i, kh, kw, i / s, o, s)``; with single channels it is as
    many neighbours in a row, ``(O / o, C / g, kh, kw / s, 1, o, s)``.

    References
    ----------
    Liu et al., "Optimizing CNN Model Inference on CPUs", USENIX ATC 2019.
    """
    missing = missing_products(dims(data)[-1], (data.dtype, kernel.dtype), spec.out_dtype)
    padded = pad_spatial(data, spec, channels=missing)
    inner = dims(padded)[-1]
    if missing:
        kernel = _in_pairs(kernel)
    outer, inputs, kh, kw, _, block, *side = dims(kernel)
    taps = side[0] if side and inner == 1 else 1
    out_h, out_w = _out(data, (kh, kw * taps), spec)
    products = products_per_step(inner * taps, (data.dtype, kernel.dtype), spec.out_dtype)
    ic, ii = te.reduce_axis((0, inputs), name="ic"), te.reduce_axis((0, inner * taps // products), name="ii")
    window = [te.reduce_axis((0, kh), name="rh"), te.reduce_axis((0, kw), name="rw")]

    def element(n: Var, c: Var, h: Var, w: Var, b: Var) -> PrimExpr:
        rows = moved(h, window[0].var, spec, 0)
        channels = group_channel(c, ic.var, outer, inputs, spec.groups)

        def term(i: PrimExpr) -> PrimExpr:
            column = window[1].var if taps == 1 else window[1].var * taps + i
            x = padded(n, channels, rows, moved(w, column, spec, 1), i if taps == 1 else 0).astype(spec.out_dtype)
            of_input = (i // side[0], b, i % side[0]) if side else (i, b)
            y = kernel(c, ic.var, window[0].var, window[1].var, *of_input).astype(spec.out_dtype)
            return x * y

        return te.sum(step_sum(ii.var, products, term), axis=[ic, *window, ii])

    shape = (dims(data)[0], outer, out_h, out_w, block)
    return compute(shape, element, name="conv", tag=Tag.CONV_PACKED)


def _in_pairs(kernel: Tensor) -> Tensor:
    """Return the weights of an odd number of channels in pairs ``(O / o, C / i, kh, kw, (i + 1) / 2, o, 2)``."""
    *outer, inner, block = dims(kernel)

    def element(*at: Var) -> PrimExpr:
        *place, pair, b, half = at
        channel = pair * 2 + half
        return te.if_then_else(channel < inner, kernel(*place, channel, b), tir.const(0, kernel.dtype))

    return compute((*outer, (inner + 1) // 2, block, 2), element, name="pairs", tag=Tag.PAD)


def depthwise_conv2d_nchwc(data: Tensor, kernel: Tensor, spec: ConvSpec) -> Tensor:
    """Return the convolution of each channel with its own kernel; channels stand in blocks.

    Data and result are ``(N, C / c, H, W, c)``, and the kernel is ``(C / c, 1, kh, kw, 1, c)``.  Of bytes that the
    target multiplies in fours, four neighbours in a row of the window are added at once, where it has as many.

    References
    ----------
    Liu et al., "Optimizing CNN Model Inference on CPUs", USENIX ATC 2019.
    """
    blocks, _, kh, kw, _, block = dims(kernel)
    out_h, out_w = _out(data, (kh, kw), spec)
    padded = pad_spatial(data, spec)
    in_fours = products_per_step(kw, (data.dtype, kernel.dtype), spec.out_dtype) == _FOUR
    rh, rw = te.reduce_axis((0, kh), name="rh"), te.reduce_axis((0, kw // _FOUR if in_fours else kw), name="rw")

    def element(n: Var, c: Var, h: Var, w: Var, b: Var) -> PrimExpr:
        def term(column: PrimExpr) -> PrimExpr:
            x = padded(n, c, moved(h, rh.var, spec, 0), moved(w, column, spec, 1), b).astype(spec.out_dtype)
            return x * kernel(c, 0, rh.var, column, 0, b).astype(spec.out_dtype)

        return te.sum(step_sum(rw.var, _FOUR if in_fours else 1, term), axis=[rh, rw])

    shape = (dims(data)[0], blocks, out_h, out_w, block)
    return compute(shape, element, name="conv", tag=Tag.CONV_PACKED_DEPTHWISE)
