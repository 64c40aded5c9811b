"""Discrete Fourier transforms: ``stft``, ``dft``."""

from __future__ import annotations

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, POSITIVE_INT
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call
from compiler.relay.op.common import check_same_extent, has_any_dim, int_of
from compiler.relay.op.type_relations import same_dtype, tensor
from compiler.relay.op_registry import public_function, register, tuple_function
from compiler.relay.operator import Array, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, Dim, TensorType, TupleType
from compiler.te.definition.tensor import Tensor
from compiler.topi.fourier import dft as topi_dft
from compiler.topi.fourier import stft as topi_stft

_NO_GRADIENT = {"gradient": "it is the transform of the gradient with the roles of its axes exchanged; TVM has none"}


class StftAttrs(Attrs):
    n_fft: int = attr_field(POSITIVE_INT, "Number of frequencies.")
    hop_length: int = attr_field(POSITIVE_INT, "Distance of neighbouring frames.")
    win_length: int = attr_field(POSITIVE_INT, "Elements of a frame.")
    normalized: bool = attr_field(BOOL, "Whether to divide by the root of ``n_fft``.", False)
    onesided: bool = attr_field(BOOL, "Whether the frequencies are only those up to the half of ``n_fft``.", True)


def _stft_relation(types: Types, attrs: StftAttrs) -> Type:
    """``(batch, frequencies, frames, 2)``, real and imaginary parts."""
    data, window = tensor(types[0], "data", 2), tensor(types[1], "window", 1)
    if isinstance(window.dims[0], int) and window.dims[0] < attrs.win_length:
        raise RelationError(f"the window must have win_length={attrs.win_length} elements or more, got {window}")
    batch, length = data.dims
    frames: Dim = AnyDim() if has_any_dim(length) else (length - attrs.n_fft) // attrs.hop_length + 1
    if isinstance(frames, int) and frames < 1:
        raise RelationError(f"n_fft must not exceed the length of the signals, got {attrs.n_fft} and {data}")
    if attrs.win_length > attrs.n_fft:
        raise RelationError(f"win_length must not exceed n_fft, got {attrs.win_length} and {attrs.n_fft}")
    return TensorType((batch, _frequencies(attrs), frames, 2), data.dtype)


def _frequencies(attrs: StftAttrs) -> int:
    return attrs.n_fft // 2 + 1 if attrs.onesided else attrs.n_fft


def _stft_compute(attrs: StftAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    data, window = inputs
    shape = tensor(out_type, "stft").dims
    rest = (attrs.n_fft, attrs.hop_length, attrs.win_length, window, attrs.normalized, attrs.onesided)
    return [topi_stft(data, *rest, shape)]


def _stft_reference(attrs: StftAttrs, data: Array, window: Array) -> Array:
    """Multiply the windowed frames with the matrix of the transform."""
    size = attrs.win_length
    frames = (data.shape[1] - attrs.n_fft) // attrs.hop_length + 1
    starts = np.arange(frames) * attrs.hop_length
    framed = data[:, starts[:, None] + np.arange(size)] * window[:size].astype(data.dtype)
    matrix = np.exp(-2j * np.pi * np.outer(np.arange(size), np.arange(_frequencies(attrs))) / size)
    spectrum = (framed.astype("float64") @ matrix).transpose(0, 2, 1)
    spectrum = spectrum / np.sqrt(attrs.n_fft) if attrs.normalized else spectrum
    return np.stack([spectrum.real, spectrum.imag], -1).astype(data.dtype)


_STFT = register(
    "stft",
    doc="Compute the Fourier transforms of short overlapping frames of signals.",
    inputs={
        "data": "Signals, ``(batch, length)``.",
        "window": "What the elements of a frame are multiplied with, ``win_length`` of them.",
    },
    attrs=StftAttrs,
    relation=_stft_relation,
    compute=_stft_compute,
    reference=_stft_reference,
    topi=topi_stft,
    waived=_NO_GRADIENT,
)


@public_function(_STFT)
def stft(
    data: RelayExpr,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: RelayExpr | None = None,
    normalized: bool = False,
    onesided: bool = True,
) -> Call:
    """Compute the Fourier transforms of short overlapping frames of signals.

    What is left out: a hop is a quarter of ``n_fft``, a frame has ``n_fft`` elements, and the window is 1 everywhere.
    """
    n_fft = int_of(n_fft, "stft: n_fft")
    size = n_fft if win_length is None else win_length
    weights = call_op("ones", shape=(n_fft,), dtype="int32") if window is None else window
    hop = n_fft // 4 if hop_length is None else hop_length
    return _STFT(data, weights, n_fft=n_fft, hop_length=hop, win_length=size, normalized=normalized, onesided=onesided)


class DftAttrs(Attrs):
    inverse: bool = attr_field(BOOL, "Whether to transform back, dividing by the number of elements.", False)


def _dft_relation(types: Types, attrs: DftAttrs) -> Type:
    """Real and imaginary parts of the shape of the data."""
    re, im = tensor(types[0], "re_data"), tensor(types[1], "im_data")
    same_dtype(re, im)
    if not re.dims or len(re.dims) != len(im.dims):
        raise RelationError(f"re_data and im_data must have the same shape of one dimension or more, got {re} and {im}")
    for d, (a, b) in enumerate(zip(re.dims, im.dims, strict=True)):
        check_same_extent(a, b, f"re_data and im_data along axis {d}")
    return TupleType((re, im))


def _dft_reference(attrs: DftAttrs, re: Array, im: Array) -> tuple[Array, Array]:
    transform = np.fft.ifft if attrs.inverse else np.fft.fft
    result = transform(re.astype("float64") + 1j * im.astype("float64"))
    return result.real.astype(re.dtype), result.imag.astype(re.dtype)


_DFT = register(
    "dft",
    doc="Compute the discrete Fourier transform along the last axis.",
    inputs={"re_data": "Real parts.", "im_data": "Imaginary parts, of the same shape."},
    attrs=DftAttrs,
    relation=_dft_relation,
    definition=topi_dft,
    reference=_dft_reference,
    topi=topi_dft,
    waived=_NO_GRADIENT,
)

dft = tuple_function(_DFT, 2)
