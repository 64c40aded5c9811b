"""Discrete Fourier transforms, one sum per element."""

from __future__ import annotations

import math

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.operands import Extent, dims, number
from compiler.topi.tag import Tag

__all__ = ["dft", "stft"]


def _angle(step: PrimExpr, period: Extent, dtype: str) -> PrimExpr:
    """Return ``2 pi step / period``; the step is reduced first, as large angles lose their digits."""
    return (step % period).astype(dtype) * tir.const(2 * math.pi, dtype) / number(period, dtype)


def stft(
    data: Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    window: Tensor,
    normalized: bool,
    onesided: bool,
    output_shape: tuple[Extent, ...],
) -> Tensor:
    """Return the short-time Fourier transform of signals ``(batch, length)``: ``(batch, frequencies, frames, 2)``.

    There are ``n_fft`` frequencies, of which ``onesided`` keeps the first half. The elements of a frame are multiplied
    with the ``win_length`` of the window; if ``normalized``, the result is divided by the root of ``n_fft``.

    References
    ----------
    J. Allen, "Short term spectral analysis, synthesis, and modification by discrete Fourier transform", IEEE TASSP 25,
    1977.
    """
    dtype = data.dtype
    k = te.reduce_axis((0, win_length), name="k")

    def element(b: Var, frequency: Var, frame: Var, part: Var) -> PrimExpr:
        value = window(k.var).astype(dtype) * data(b, frame * hop_length + k.var)
        angle = _angle(frequency * k.var, win_length, dtype)
        return te.sum(value * tir.Select(part.equal(0), te.cos(angle), -te.sin(angle)), axis=k)

    sums = compute(output_shape, element, name="stft", tag=Tag.COMM_REDUCE)
    if not normalized:
        return sums
    scale = tir.const(1 / math.sqrt(n_fft), dtype)
    return compute(output_shape, lambda *i: sums(*i) * scale, name="stft_normalized", tag=Tag.ELEMWISE)


def dft(re_data: Tensor, im_data: Tensor, inverse: bool) -> list[Tensor]:
    """Return the discrete Fourier transform along the last axis, or back, which divides by the number of elements."""
    dtype, length = re_data.dtype, dims(re_data)[-1]
    sign = 1 if inverse else -1

    def part(real: bool) -> Tensor:
        k = te.reduce_axis((0, length), name="k")

        def element(*at: Var) -> PrimExpr:
            *row, frequency = at
            angle = _angle(frequency * k.var, length, dtype)
            re, im = re_data(*row, k.var), im_data(*row, k.var)
            cos, sin = te.cos(angle), te.sin(angle) * tir.const(sign, dtype)
            return te.sum(re * cos - im * sin if real else re * sin + im * cos, axis=k)

        sums = compute(re_data.shape, element, name="dft_re" if real else "dft_im", tag=Tag.COMM_REDUCE)
        if not inverse:
            return sums
        count = number(length, dtype)
        return compute(re_data.shape, lambda *i: sums(*i) / count, name=f"{sums.op.name}_mean", tag=Tag.ELEMWISE)

    return [part(True), part(False)]
