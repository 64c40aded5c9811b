"""Transposed convolutions: the gradients of convolutions with respect to their data."""

from __future__ import annotations

from dataclasses import replace

from compiler import te
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.compute import RowVectors, compute, computes_by_threads
from compiler.topi.nn.convolution.conv import ConvSpec, conv_windows
from compiler.topi.nn.pad import dilate, pad
from compiler.topi.operands import Extent, Index, constant, dims
from compiler.topi.tag import Tag


def transposed_extent(
    extent: Extent, around: int, kernel: Extent, stride: int, dilation: int, output_padding: int
) -> Extent:
    """Return the extent whose convolution would have ``extent`` elements.

    Where there are several, ``output_padding`` says how many elements more than the least.
    """
    return (extent - 1) * stride - around + (kernel - 1) * dilation + 1 + output_padding


def conv_transpose(data: Tensor, kernel: Tensor, spec: ConvSpec, output_padding: tuple[int, ...]) -> Tensor:
    """Return the transposed convolution of ``data`` with ``kernel``: the gradient of a convolution's data.

    In ``spec.kernel_layout``, ``I`` are the channels of the data, ``O`` those of the result in one group.

    References
    ----------
    Shi et al., "Is the deconvolution layer the same as a convolutional layer?", arXiv:1609.07009, 2016: one
    convolution for each phase of the stride.
    """
    plain = ("NC" + spec.spatial, "IO" + spec.spatial, "NC" + spec.spatial)
    named = (spec.data_layout, spec.kernel_layout, spec.out_layout) == plain
    if (
        named
        and not computes_by_threads()
        and all(d == 1 for d in spec.dilation)
        and all(isinstance(d, int) for d in dims(data)[2:])
    ):
        return _by_phases(data, kernel, spec, output_padding)
    return _backwards(data, kernel, spec, output_padding)


def _by_phases(data: Tensor, kernel: Tensor, spec: ConvSpec, output_padding: tuple[int, ...]) -> Tensor:
    """Compute the elements of the result that the same taps of the kernel reach together.

    With a stride of ``s``, element ``q`` of the result before padding is cut off sums the taps ``q % s + s * t`` times
    the elements ``q // s - t`` of the data: for each phase ``q % s`` an ordinary convolution, whose rows are vectors.
    """
    rank = len(spec.strides)
    batch, channels = dims(data)[:2]
    outputs = dims(kernel)[1]
    extents, taps = ([constant(e, "conv_transpose") for e in dims(x)[2:]] for x in (data, kernel))
    inputs = channels // spec.groups
    around = [b + a for b, a in zip(spec.before, spec.after, strict=True)]
    out = [(extents[d] - 1) * spec.strides[d] - around[d] + taps[d] + output_padding[d] for d in range(rank)]
    steps = [-(-taps[d] // spec.strides[d]) for d in range(rank)]
    # The first of each phase's elements that is not cut off as padding.
    base = [b // s for b, s in zip(spec.before, spec.strides, strict=True)]
    counts = [(spec.before[d] + out[d] - 1) // spec.strides[d] + 1 - base[d] for d in range(rank)]
    vector = 16 if counts[-1] > 8 else 8
    counts[-1] = -(-counts[-1] // vector) * vector
    low = [0, 0, *[steps[d] - 1 - base[d] for d in range(rank)]]
    high = [0, 0, *[max(0, counts[d] + base[d] - extents[d]) for d in range(rank)]]
    spread = pad(data, low, high, name="data_pad")
    more = [steps[d] * spec.strides[d] - taps[d] for d in range(rank)]
    weights = pad(kernel, [0] * (2 + rank), [0, 0, *more], name="kernel_pad")
    rc = te.reduce_axis((0, inputs), name="rc")
    window = [te.reduce_axis((0, n), name=f"r{d}") for d, n in enumerate(steps)]

    def element(n: Var, c: Var, *at: Var) -> PrimExpr:
        channel = c // outputs * inputs + rc.var if spec.groups > 1 else rc.var
        read = [at[rank + d] + (steps[d] - 1) - window[d].var for d in range(rank)]
        by = [at[d] + window[d].var * spec.strides[d] for d in range(rank)]
        column: Index = c % outputs if spec.groups > 1 else c
        a, b = spread(n, channel, *read), weights(channel, column, *by)
        return te.sum(a.astype(spec.out_dtype) * b.astype(spec.out_dtype), axis=[rc, *window])

    names = ["n", "c", *[f"p{d}" for d in range(rank)], *[f"q{d}" for d in range(rank)]]
    shape = (batch, outputs * spec.groups, *spec.strides, *counts)
    attrs = RowVectors(vector, spec.groups)
    phases = compute(shape, element, name="phases", tag=Tag.CONV_ROWS, attrs=attrs, varargs_names=names[2:])

    def of_phases(n: Var, c: Var, *at: Var) -> PrimExpr:
        places = [i + before if before else i for i, before in zip(at, spec.before, strict=True)]
        parts = [i % s for i, s in zip(places, spec.strides, strict=True)]
        elements = [i // s - b for i, s, b in zip(places, spec.strides, base, strict=True)]
        return phases(n, c, *parts, *elements)

    names = [f"i{d}" for d in range(rank)]
    result_shape = (batch, outputs * spec.groups, *out)
    return compute(result_shape, of_phases, name="conv_transpose", tag=Tag.INJECTIVE, varargs_names=names)


def _backwards(data: Tensor, kernel: Tensor, spec: ConvSpec, output_padding: tuple[int, ...]) -> Tensor:
    """Put zeros between the elements of the data and move the kernel over it backwards."""
    source, weights, result = (layout(n) for n in (spec.data_layout, spec.kernel_layout, spec.out_layout))
    x, w = source.extents(dims(data)), weights.extents(dims(kernel))
    inputs, outputs = x["C"] // spec.groups, w["O"]
    extents: dict[str, Extent] = {"N": x["N"], "C": outputs * spec.groups}
    low, high, steps = dict.fromkeys("NC", 0), dict.fromkeys("NC", 0), dict.fromkeys("NC", 1)
    for d, letter in enumerate(spec.spatial):
        reach = (constant(w[letter], "conv_transpose") - 1) * spec.dilation[d]
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

    def element(*at: Var) -> PrimExpr:
        here = result.point(at)
        channel: Index = here["C"] // outputs * inputs + rc.var if spec.groups > 1 else rc.var
        read, by = {"N": here["N"], "C": channel}, {"I": channel, "O": here["C"] % outputs}
        for d, letter in enumerate(spec.spatial):
            k = window[letter].var
            read[letter] = here[letter] + k * spec.dilation[d]
            by[letter] = w[letter] - 1 - k
        a, b = spread(*source.indices(read)), kernel(*weights.indices(by))
        return te.sum(a.astype(spec.out_dtype) * b.astype(spec.out_dtype), axis=[rc, *window.values()])

    names = [a.letter.lower() * (2 if a.factor else 1) for a in result.axes]
    shape = result.shape(extents)
    # Over the data with the zeros it is a convolution whose windows move by one element.
    attrs = conv_windows(result, replace(spec, strides=(1,) * len(spec.spatial)))
    return compute(shape, element, name="conv_transpose", tag=Tag.CONV_TRANSPOSE, attrs=attrs, varargs_names=names)
