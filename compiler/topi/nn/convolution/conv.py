"""Convolutions over any number of spatial dimensions, in any layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from compiler import te, tir
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import Layout, layout
from compiler.topi.compute import ConvWindows, RowVectors, compute, computes_by_threads
from compiler.topi.nn.pad import pad
from compiler.topi.operands import Extent, Index, constant, dims, is_one
from compiler.topi.tag import Tag

E = TypeVar("E", int, Extent)
"""A constant, or any extent."""


@dataclass(frozen=True, slots=True)
class ConvSpec:
    """The attributes of a convolution.

    ``before`` and ``after`` are the zeros around the data, for each spatial dimension; the kernel's dimensions are
    ``O`` and ``I`` and the spatial ones; products are summed in ``out_dtype``.
    """

    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    groups: int
    data_layout: str
    kernel_layout: str
    out_layout: str
    out_dtype: str

    @property
    def spatial(self) -> str:
        """The spatial dimensions, in the order of the data's layout."""
        return spatial_letters(self.data_layout)


def spatial_letters(data_layout: str) -> str:
    """Return the letters of a layout that are neither batch nor channels, in the order of depth, height, width."""
    return "".join(letter for letter in "DHW" if letter in layout(data_layout).letters)


def window_extent(extent: E, before: int, after: int, kernel: E, stride: int, dilation: int) -> E:
    """Return how often a window fits into one dimension."""
    return (extent + before + after - (kernel - 1) * dilation - 1) // stride + 1


def pad_spatial(data: Tensor, spec: ConvSpec, channels: int = 0) -> Tensor:
    """Return the data of a convolution with the zeros around it."""
    amounts = dict(zip(spec.spatial, zip(spec.before, spec.after, strict=True), strict=True))
    axes = layout(spec.data_layout).axes
    pairs = [(0, channels) if a.factor else amounts.get(a.letter, (0, 0)) for a in axes]
    return pad(data, [p[0] for p in pairs], [p[1] for p in pairs], name="data_pad")


def conv(data: Tensor, kernel: Tensor, spec: ConvSpec, in_vectors: bool = True) -> Tensor:
    """Return the convolution of ``data`` with ``kernel``, which is not reversed (a cross-correlation).

    Every output element is one sum, over the input channels of its group and over the window. If ``in_vectors``, rows
    may be computed in full vectors and cut off, where the target's schedules want that. A schedule of one's own wants
    the definition in one stage: the sums are the result then.
    """
    source, weights, result = (layout(n) for n in (spec.data_layout, spec.kernel_layout, spec.out_layout))
    x, w = source.extents(dims(data)), weights.extents(dims(kernel))
    extents: dict[str, Extent] = {"N": x["N"], "C": w["O"]}
    for d, letter in enumerate(spec.spatial):
        around = (spec.before[d], spec.after[d])
        extents[letter] = window_extent(x[letter], *around, w[letter], spec.strides[d], spec.dilation[d])
    plain = ("NC" + spec.spatial, "OI" + spec.spatial, "NC" + spec.spatial)
    in_vectors = in_vectors and (source.name, weights.name, result.name) == plain and not computes_by_threads()
    width = extents.get("W")
    rows = _Rows(data, spec, width, constant(w["W"], "conv")) if in_vectors and isinstance(width, int) else None
    padded = rows.padded if rows else pad_spatial(data, spec)
    rc = te.reduce_axis((0, w["I"]), name="rc")
    window = [te.reduce_axis((0, w[letter]), name=f"r{letter.lower()}") for letter in spec.spatial]

    def element(*at: Var) -> PrimExpr:
        here = result.point(at)
        channel = group_channel(here["C"], rc.var, w["O"], w["I"], spec.groups)
        read = {"N": here["N"], "C": channel}
        read |= {letter: moved(here[letter], window[d].var, spec, d) for d, letter in enumerate(spec.spatial)}
        by = {"O": here["C"], "I": rc.var} | {letter: window[d].var for d, letter in enumerate(spec.spatial)}
        a = rows.read(read, at[-1], window[-1].var) if rows else padded(*source.indices(read))
        b = kernel(*weights.indices(by))
        return te.sum(a.astype(spec.out_dtype) * b.astype(spec.out_dtype), axis=[rc, *window])

    names = [a.letter.lower() * (2 if a.factor else 1) for a in result.axes]
    shape = result.shape(extents)
    if rows is None:
        windows = conv_windows(result, spec)
        return compute(shape, element, name="conv", tag=Tag.CONV, attrs=windows, varargs_names=names)
    is_depthwise = is_one(w["I"]) and spec.groups > 1
    tag = Tag.CONV_ROWS_DEPTHWISE if is_depthwise else Tag.CONV_ROWS
    attrs = RowVectors(rows.vector, spec.groups)
    sums = compute((*shape[:-1], rows.extent), element, name="conv", tag=tag, attrs=attrs, varargs_names=names)
    if rows.extent == width:
        return sums
    return compute(shape, lambda *i: sums(*i), name="conv_cut", tag=Tag.ELEMWISE, varargs_names=names)


def conv_windows(result: Layout, spec: ConvSpec) -> ConvWindows | None:
    """Return what schedules go by, None for channels in blocks."""
    letters = [axis.letter for axis in result.axes]
    if any(axis.factor for axis in result.axes):
        return None
    columns = letters.index(spec.spatial[-1])
    return ConvWindows(letters.index("C"), columns, spec.strides[-1], spec.dilation[-1], spec.groups)


class _Rows:
    """The padded data ``NC…W`` of a convolution whose rows are computed in full vectors.

    Rows of the result are as long as a multiple of a vector, and what is too much is cut off.  Where windows move by
    more than one element, those elements of a row that one tap of the window reads stand together.
    """

    def __init__(self, data: Tensor, spec: ConvSpec, width: int, kernel: int) -> None:
        self.vector = 16 if width > 8 else 8
        self.extent = -(-width // self.vector) * self.vector
        self._spec = spec
        self._phases = spec.strides[-1] if kernel > 1 or spec.strides[-1] > 1 else 1
        *outer, length = dims(data)
        before, after = spec.before, spec.after
        reach = self.extent + (kernel - 1) * spec.dilation[-1] // self._phases
        edges = [(0, 0), (0, 0), *zip(before[:-1], after[:-1], strict=True)]
        shape = [extent + low + high for extent, (low, high) in zip(outer, edges, strict=True)]
        zero = tir.const(0, data.dtype)

        def element(*at: Var) -> PrimExpr:
            *rest, phase, w = at
            column = w * self._phases + phase - before[-1]
            inside = [] if before[-1] == 0 else [column >= 0]
            inside.append(column < length)
            for i, (low, high), extent in zip(rest, edges, outer, strict=True):
                inside += [i >= low] if low else []
                inside += [i < extent + low] if high else []
            indices = [i - low if low else i for i, (low, _) in zip(rest, edges, strict=True)]
            return te.if_then_else(te.all(*inside), data(*indices, column), zero)

        names = [f"i{d}" for d in range(len(shape))]
        self.padded = compute(
            (*shape, self._phases, reach), element, name="data_pad", tag=Tag.PAD, varargs_names=[*names, "p", "w"]
        )

    def read(self, point: Mapping[str, Index], w: Index, tap: Var) -> PrimExpr:
        """Return the element at ``point`` of the data, for column ``w`` of the result and a tap of the window."""
        shift = tap * self._spec.dilation[-1]
        outer = [point[letter] for letter in ("N", "C", *self._spec.spatial[:-1])]
        return self.padded(*outer, shift % self._phases, w + shift // self._phases)


def moved(index: Index, tap: PrimExpr, spec: ConvSpec, d: int) -> PrimExpr:
    """Return the index of an element of a window in padded data."""
    start = index if spec.strides[d] == 1 else index * spec.strides[d]
    return start + (tap if spec.dilation[d] == 1 else tap * spec.dilation[d])


def group_channel(out_channel: Index, in_channel: Index, outputs: Extent, inputs: Extent, groups: int) -> Index:
    """Return the channel of the data that an output channel's group has at ``in_channel``, counted in the group."""
    if groups == 1:
        return in_channel
    each = outputs // groups
    group = out_channel if is_one(each) else out_channel // each
    return group if is_one(inputs) else group * inputs + in_channel
