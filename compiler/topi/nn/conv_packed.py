"""Convolutions over images whose channels stand in blocks as wide as a vector."""

from __future__ import annotations

from typing import Any

from compiler import te
from compiler.topi.nn.conv import ConvSpec, moved, pad_spatial, window_extent
from compiler.topi.tag import Tag
from compiler.topi.util import dims


def _out(data: Any, kernel: Any, spec: ConvSpec) -> tuple[Any, Any]:
    _, _, height, width, _ = dims(data)
    _, _, kh, kw, _, _ = dims(kernel)
    return tuple(
        window_extent(size, spec.before[d], spec.after[d], k, spec.strides[d], spec.dilation[d])
        for d, (size, k) in enumerate(((height, kh), (width, kw)))
    )


def conv2d_nchwc(data: Any, kernel: Any, spec: ConvSpec) -> Any:
    """Return the convolution of ``(N, C / i, H, W, i)`` with ``(O / o, C / i, kh, kw, i, o)``."""
    outer, inputs, kh, kw, inner, block = dims(kernel)
    out_h, out_w = _out(data, kernel, spec)
    padded = pad_spatial(data, spec)
    ic, ii = te.reduce_axis((0, inputs), name="ic"), te.reduce_axis((0, inner), name="ii")
    window = [te.reduce_axis((0, kh), name="rh"), te.reduce_axis((0, kw), name="rw")]

    def element(n: Any, c: Any, h: Any, w: Any, b: Any) -> Any:
        rows, columns = (moved(i, window[d], spec, d) for d, i in enumerate((h, w)))
        x = padded(n, ic.var, rows, columns, ii.var).astype(spec.out_dtype)
        y = kernel(c, ic.var, window[0].var, window[1].var, ii.var, b).astype(spec.out_dtype)
        return te.sum(x * y, axis=[ic, *window, ii])

    shape = (dims(data)[0], outer, out_h, out_w, block)
    return te.compute(shape, element, name="conv", tag=Tag.CONV_PACKED)


def depthwise_conv2d_nchwc(data: Any, kernel: Any, spec: ConvSpec) -> Any:
    """Return the convolution of each channel of ``(N, C / c, H, W, c)`` with its own kernel."""
    blocks, _, kh, kw, _, block = dims(kernel)
    out_h, out_w = _out(data, kernel, spec)
    padded = pad_spatial(data, spec)
    window = [te.reduce_axis((0, kh), name="rh"), te.reduce_axis((0, kw), name="rw")]

    def element(n: Any, c: Any, h: Any, w: Any, b: Any) -> Any:
        rows, columns = (moved(i, window[d], spec, d) for d, i in enumerate((h, w)))
        x = padded(n, c, rows, columns, b).astype(spec.out_dtype)
        y = kernel(c, 0, window[0].var, window[1].var, 0, b).astype(spec.out_dtype)
        return te.sum(x * y, axis=window)

    shape = (dims(data)[0], blocks, out_h, out_w, block)
    return te.compute(shape, element, name="conv", tag=Tag.CONV_PACKED_DEPTHWISE)
