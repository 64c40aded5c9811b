"""Signal processing: Fourier transforms as matrix products, windows, mel weights."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.onnx.converters.matmul import matmul
from compiler.relay.frontend.onnx.node import Node
from compiler.relay.frontend.onnx.reader import dtype_name
from compiler.relay.frontend.onnx.registry import Convert, converter, converters
from compiler.relay.frontend.shared.folding import Array, constant, dims_of, dtype_of, ops, rank_of
from compiler.relay.frontend.shared.tensors import (
    bounded,
    cast,
    extent_of,
    pad,
    slice_axis,
    static_dims,
    transpose,
    unsqueeze,
)


def _fourier(size: int, bins: int, inverse: bool) -> tuple[Array, Array]:
    bounded(size, bins)
    angle = 2 * np.pi * np.outer(np.arange(size), np.arange(bins)) / size
    scale = 1 / size if inverse else 1.0
    return np.cos(angle) * scale, np.sin(angle) * (scale if inverse else -scale)


def dft(x: RelayExpr, axis: int, length: int | None, onesided: bool, inverse: bool) -> RelayExpr:
    """Transform an axis of numbers whose last axis is (real,) or (real, imaginary)."""
    rank = rank_of(x)
    axis %= rank
    extent, parts = static_dims(x, "the input", [axis, -1])
    size = extent if length is None else length
    size = extent if onesided and inverse else size
    if size != extent:
        x = pad(x, [(0, size - extent) if a == axis else (0, 0) for a in range(rank)])
    order = [a for a in range(rank) if a not in (axis, rank - 1)]
    moved = transpose(x, [rank - 1, *order, axis])
    back = [[rank - 1, *order, axis].index(a) for a in range(rank)]
    real = _part(moved, 0)
    if onesided and inverse:
        length = 2 * (extent - 1) if length is None else length
        ends = _real_from_half(length, size)
        components = [ops.subtract(matmul(real, _as(ends[0], x)), matmul(_part(moved, 1), _as(ends[1], x)))]
        return transpose(ops.stack(components, axis=0), back)
    given = [real] if parts == 1 else [real, _part(moved, 1)]
    return transpose(ops.stack(spectrum(given, size, size // 2 + 1 if onesided else size, inverse), axis=0), back)


def spectrum(parts: Sequence[RelayExpr], size: int, bins: int, inverse: bool = False) -> list[RelayExpr]:
    """Return the real and the imaginary parts of the first bins of rows, given their real parts or both."""
    real, cosine, sine = parts[0], *[_as(matrix, parts[0]) for matrix in _fourier(size, bins, inverse)]
    if len(parts) == 1:
        return [matmul(real, cosine), matmul(real, sine)]
    imaginary = parts[1]
    return [
        ops.subtract(matmul(real, cosine), matmul(imaginary, sine)),
        ops.add(matmul(real, sine), matmul(imaginary, cosine)),
    ]


def _as(matrix: Array, x: RelayExpr) -> RelayExpr:
    return constant(matrix.astype(dtype_of(x)))


def _real_from_half(length: int, bins: int) -> tuple[Array, Array]:
    """Return the inverse transform of the first half of a symmetric spectrum, whose other half counts as well."""
    bounded(bins, length)
    angle = 2 * np.pi * np.outer(np.arange(bins), np.arange(length)) / length
    place = np.arange(bins)
    weight = np.where((place == 0) | (2 * place == length), 1.0, 2.0) * (2 * place <= length) / length
    return np.cos(angle) * weight[:, None], np.sin(angle) * weight[:, None]


def _part(x: RelayExpr, index: int) -> RelayExpr:
    return ops.squeeze(slice_axis(x, 0, index, index + 1), axis=[0])


def _dft(node: Node, axis: int) -> RelayExpr:
    """Sums over a whole signal lose too much in single precision."""
    length = node.ints(1, "dft_length")
    inverse, onesided = bool(node.attr("inverse", 0)), bool(node.attr("onesided", 0))
    x = node.inputs[0]
    return cast(dft(cast(x, "float64"), axis, length[0] if length else None, onesided, inverse), dtype_of(x))


converters({"DFT": lambda node: _dft(node, node.attr("axis", 1))}, since=17)
converters({"DFT": lambda node: _dft(node, (node.ints(2, "axis") or [-2])[0])}, since=20)


def _places_of_frames(signal: RelayExpr, length: int, step: int) -> RelayExpr:
    """Return where the elements of the frames are in axis 1 of a signal, (frames, length)."""
    extent = dims_of(signal)[1]
    if isinstance(extent, int):
        frames = (extent - length) // step + 1
        bounded(frames, length)
        return constant(np.arange(frames)[:, None] * step + np.arange(length))
    last = ops.subtract(extent_of(signal, 1), length - 1)
    begins = ops.arange(constant(0, "int64"), last, constant(step, "int64"), dtype="int64")
    return ops.add(unsqueeze(begins, [1]), constant(np.arange(length)))


@converter("STFT")
def _stft(node: Node) -> RelayExpr:
    signal, window = node.inputs[0], node.input(2)
    if rank_of(signal) == 2:  # onnxruntime takes real numbers without an axis for their one part
        signal = unsqueeze(signal, [2])
    step = (node.ints(1, "frame_step") or [1])[0]
    given = node.ints(3, "frame_length")
    length = given[0] if given else static_dims(node.inputs[2], "the window")[0]
    cut = ops.take(signal, _places_of_frames(signal, length, step), axis=1)  # (batch, frames, length, parts)
    if window is not None:
        cut = ops.multiply(cut, ops.reshape(window, (1, 1, length, 1)))
    return dft(cut, 2, None, bool(node.attr("onesided", 1)), False)


_WINDOWS = {
    "HannWindow": (0.5, 0.5, 0.0),
    "HammingWindow": (25 / 46, 1 - 25 / 46, 0.0),
    "BlackmanWindow": (0.42, 0.5, 0.08),
}
"""Coefficients of 1, cos and cos of the double angle."""


def _window(a: float, b: float, c: float) -> Convert:
    def convert(node: Node) -> RelayExpr:
        size = (node.ints(0, "size") or [0])[0]
        bounded(size)
        angle = 2 * math.pi * np.arange(size) / max(size if node.attr("periodic", 1) else size - 1, 1)
        values = a - b * np.cos(angle) + c * np.cos(2 * angle)
        return constant(values.astype(dtype_name(node.attr("output_datatype", 1), "attribute 'output_datatype'")))

    return convert


converters({name: _window(*row) for name, row in _WINDOWS.items()})


@converter("MelWeightMatrix")
def _mel_weight_matrix(node: Node) -> RelayExpr:
    """Triangles over the frequencies, equally wide in mels."""
    bins, length, rate, low, high = (
        node.array(i, name).item()
        for i, name in enumerate(("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz"))
    )
    bounded(length, bins)
    mels = 2595 * np.log10(1 + np.array([low, high]) / 700)
    edges = mels[0] + np.arange(bins + 2) * (mels[1] - mels[0]) / (bins + 2)
    hertz = 700 * (10 ** (edges / 2595) - 1)
    places = ((length + 1) * hertz // rate).astype(np.int64)
    matrix = np.zeros((length // 2 + 1, bins))
    for i in range(bins):
        first, peak, last = places[i : i + 3]
        if peak == first:
            matrix[peak, i] = 1
        else:
            matrix[first : peak + 1, i] = (np.arange(first, peak + 1) - first) / (peak - first)
        if last > peak:
            matrix[peak:last, i] = (last - np.arange(peak, last)) / (last - peak)
    return constant(matrix.astype(dtype_name(node.attr("output_datatype", 1), "attribute 'output_datatype'")))
