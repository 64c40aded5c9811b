"""Transposed convolutions: the gradients of convolutions with respect to their data."""

from __future__ import annotations

from typing import Any

from compiler import te
from compiler.topi.layout import layout
from compiler.topi.nn.conv import ConvSpec
from compiler.topi.nn.pad import dilate, dims, pad


def transposed_extent(extent: Any, around: int, kernel: int, stride: int, dilation: int, more: int) -> Any:
    """Return the extent whose convolution would have ``extent`` elements; ``more`` tells apart those that do."""
    return (extent - 1) * stride - around + (kernel - 1) * dilation + 1 + more


def conv_transpose(data: Any, kernel: Any, spec: ConvSpec, output_padding: tuple[int, ...]) -> Any:
    """Return the transposed convolution of ``data`` with ``kernel``.

    Its letters are as the kernel is used here: ``I`` of the data's channels, ``O`` of the result's in one group.  Zeros
    are put between the elements of the data, and the kernel moves over it backwards.
    """
    source, weights, result = (layout(n) for n in (spec.data_layout, spec.kernel_layout, spec.out_layout))
    x, w = source.extents(dims(data)), weights.extents(dims(kernel))
    inputs, outputs = x["C"] // spec.groups, w["O"]
    extents = {"N": x["N"], "C": outputs * spec.groups}
    low, high, steps = dict.fromkeys("NC", 0), dict.fromkeys("NC", 0), dict.fromkeys("NC", 1)
    for d, letter in enumerate(spec.spatial):
        reach = (w[letter] - 1) * spec.dilation[d]
        low[letter], high[letter] = reach - spec.before[d], reach - spec.after[d] + output_padding[d]
        steps[letter] = spec.strides[d]
        around = spec.before[d] + spec.after[d]
        extents[letter] = transposed_extent(
            x[letter], around, w[letter], spec.strides[d], spec.dilation[d], output_padding[d]
        )
    spread = pad(
        dilate(data, [1 if a.factor else steps[a.letter] for a in source.axes]),
        [0 if a.factor else low[a.letter] for a in source.axes],
        [0 if a.factor else high[a.letter] for a in source.axes],
        name="data_pad",
    )
    rc = te.reduce_axis((0, inputs), name="rc")
    window = {letter: te.reduce_axis((0, w[letter]), name=f"r{letter.lower()}") for letter in spec.spatial}

    def element(*at: Any) -> Any:
        here = result.point(at)
        group = here["C"] // outputs if spec.groups > 1 else 0
        channel = group * inputs + rc.var if spec.groups > 1 else rc.var
        read, by = {"N": here["N"], "C": channel}, {"I": channel, "O": here["C"] % outputs}
        for d, letter in enumerate(spec.spatial):
            k = window[letter].var
            read[letter] = here[letter] + k * spec.dilation[d]
            by[letter] = w[letter] - 1 - k
        a, b = spread(*source.indices(read)), kernel(*weights.indices(by))
        return te.sum(a.astype(spec.out_dtype) * b.astype(spec.out_dtype), axis=[rc, *window.values()])

    names = [a.letter.lower() * (2 if a.factor else 1) for a in result.axes]
    shape = result.shape(extents)
    return te.compute(shape, element, name="conv_transpose", tag="conv_transpose", varargs_names=names)
