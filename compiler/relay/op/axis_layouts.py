"""Layout rules of operators with axis attributes, which are renumbered for a new layout.

Each takes a new layout that has the same dimensions as the old one, whose dimensions are not in blocks.  Where a number
would fall into blocks, the rule refuses the new layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from compiler.ir.attrs import Attrs
from compiler.relay.named_layouts import CHANNELS
from compiler.relay.op.common import FAR
from compiler.relay.op.layout_rules import SCALAR, dims_of_tensor
from compiler.relay.operator import InferCorrectLayoutOutput, InLayouts, LayoutAnswer, LayoutRule, Types
from compiler.relay.ty import Dim
from compiler.tir.layout.data_layout import Layout, layout

A = TypeVar("A", bound=Attrs)


def translatable(old: Layout | None, new: Layout | None) -> bool:
    """Return whether numbers of axes of one layout can be written for another."""
    if old is None or new is None or any(a.factor for a in old.axes):
        return False
    return set(old.letters) == set(new.letters)


def axis_in(old: Layout, new: Layout, axis: int) -> int:
    """Return the position in a new layout of an axis of an old one."""
    return new.index_of(old[axis])


def _output(inputs: Sequence[Layout | None], output: Layout | None, attrs: Attrs) -> LayoutAnswer:
    return None if output is None else InferCorrectLayoutOutput(inputs, [output], attrs)


def along_axis_layout(attrs: A, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
    """An operator along its attribute ``axis``: normalisation, or scales and zero points of quantized tensors.

    Its other inputs are vectors along that axis, which therefore must not be split, or scalars.
    """
    old = old_in[0]
    others = [CHANNELS] * (len(old_in) - 1)
    if new_in is None or new_in[0] == old:
        return _output([old, *others], old, attrs)
    new = new_in[0]
    if old is None or new is None or not translatable(old, new):
        return None
    axis = attrs.get_int("axis")
    if new.block(old[axis]) > 1 and any(dims_of_tensor(t) for t in types[1:]):
        return None
    return _output([new, *others], new, attrs.with_values(axis=axis_in(old, new, axis)))


def batch_norm_layout(attrs: A, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
    """Like :func:`along_axis_layout`; mean and variance are results as well."""
    made = along_axis_layout(attrs, new_in, old_in, types)
    if made is None:
        return None
    return InferCorrectLayoutOutput(made.input_layouts, [*made.output_layouts, CHANNELS, CHANNELS], made.new_attrs)


def sorted_along_axis_layout(attrs: A, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
    """Elements are put in order along the attribute ``axis``, which must not come in blocks."""
    (old,) = old_in
    new = old if new_in is None else new_in[0]
    results = 2 if attrs.get("ret_type") == "both" else 1
    if old is None or new is None or new == old:
        return None if old is None else InferCorrectLayoutOutput([old], [old] * results, attrs)
    axis = attrs.get_int("axis")
    if not translatable(old, new) or new.block(old[axis]) > 1:
        return None
    return InferCorrectLayoutOutput([new], [new] * results, attrs.with_values(axis=axis_in(old, new, axis)))


def along_axes_layout(attrs: A, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
    """An operator over the axes that its attribute ``axis`` lists, none of which may come in blocks."""
    (old,) = old_in
    if old is None:
        return None
    new = old if new_in is None else new_in[0]
    if new is None or new == old:
        return _output([old], old, attrs)
    axes = attrs["axis"] or ()
    if not translatable(old, new) or any(new.block(old[a]) > 1 for a in axes):
        return None
    return _output([new], new, attrs.with_values(axis=tuple(axis_in(old, new, a) for a in axes)))


def transpose_layout(attrs: A, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
    """The result is in its old layout whatever the input's is: the permutation brings it there."""
    (old,) = old_in
    if old is None:
        return None
    axes = range(len(old) - 1, -1, -1) if attrs["axes"] is None else attrs["axes"]
    output = old.take(axes)
    if new_in is None or new_in[0] == old:
        return _output([old], output, attrs)
    (new,) = new_in
    if new is None or len(new) != len(old) or not translatable(old, new):
        return None
    return _output([new], output, attrs.with_values(axes=tuple(axis_in(old, new, a) for a in axes)))


def squeeze_layout(attrs: A, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
    """The axes of extent 1 are named as they stand in the new layout."""
    (old,) = old_in
    if old is None:
        return None
    given, rank = attrs["axis"], len(old)
    ones = [at for at, d in enumerate(dims_of_tensor(types[0])) if isinstance(d, int) and d == 1]
    gone = [at % rank for at in (ones if given is None else given)]
    if new_in is None or new_in[0] == old:
        return _output([old], old.take(at for at in range(rank) if at not in gone), attrs)
    (new,) = new_in
    if new is None or not translatable(old, new) or any(new.block(old[at]) > 1 for at in gone):
        return None
    there = sorted(axis_in(old, new, at) for at in gone)
    left = new.take(at for at in range(len(new)) if at not in there)
    return _output([new], left, attrs.with_values(axis=tuple(there)))


def concatenate_layout(attrs: A, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
    """Tensors that come in one new layout are concatenated in it, others in their old one."""
    old = next((each for each in old_in if each is not None), None)
    if old is None or any(each not in (None, old) for each in old_in):
        return None
    axis, count = attrs.get_int("axis"), len(old_in)
    new = old if new_in is None else new_in[0]
    if new is None or new == old or any(each != new for each in new_in or ()):
        return _output([old] * count, old, attrs)
    if not translatable(old, new):
        return None
    return _output([new] * count, new, attrs.with_values(axis=axis_in(old, new, axis)))


def split_layout(attrs: A, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
    """A tensor is split along the same dimension; one in blocks only between blocks."""
    (old,) = old_in
    if old is None:
        return None
    parts = attrs["indices_or_sections"]
    count = parts if isinstance(parts, int) else len(parts) + 1
    if new_in is None or new_in[0] == old:
        return InferCorrectLayoutOutput([old], [old] * count, attrs)
    (new,) = new_in
    if new is None or not translatable(old, new):
        return None
    axis = attrs.get_int("axis")
    block = new.block(old[axis])
    if isinstance(parts, int):
        extent = dims_of_tensor(types[0])[axis]
        if block > 1 and (not isinstance(extent, int) or extent % (parts * block)):
            return None
    elif any(place % block for place in parts):
        return None
    else:
        parts = tuple(place // block for place in parts)
    made = attrs.with_values(axis=axis_in(old, new, axis), indices_or_sections=parts)
    return InferCorrectLayoutOutput([new], [new] * count, made)


def pad_layout(attrs: A, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
    """The pads go with their axes; a dimension in blocks must have none, or the tensor is padded in its old layout."""
    old = old_in[0]
    others = [SCALAR] * (len(old_in) - 1)
    if old is None:
        return None
    new = old if new_in is None else new_in[0]
    if new is None or new == old or not translatable(old, new):
        return _output([old, *others], old, attrs)
    widths = dict(zip(old.letters, attrs["pad_width"], strict=True))
    if any(any(widths[a.letter]) for a in new.axes if new.block(a.letter) > 1):
        return _output([old, *others], old, attrs)
    there = tuple((0, 0) if a.factor else widths[a.letter] for a in new.axes)  # blocks of one element stay as they are
    return _output([new, *others], new, attrs.with_values(pad_width=there))


def slice_like_layout(attrs: A, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
    """Both tensors have one layout, and the axes to shorten are not in blocks."""
    old = old_in[0]
    if old is None or old_in[1] != old:
        return None
    new = old if new_in is None else new_in[0]
    if new is None or new == old:
        return _output([old, old], old, attrs)
    axes = attrs["axes"] or range(len(old))
    if not translatable(old, new) or any(new.block(old[a]) > 1 for a in axes):
        return None
    there = tuple(axis_in(old, new, a) for a in axes) if attrs["axes"] else attrs["axes"]
    return _output([new, new], new, attrs.with_values(axes=there))


def reduction_layout(ordered: bool = False) -> LayoutRule[Any]:
    """Return the rule of a reduction; ``ordered`` if the order of the reduced axes matters, as for the index of an
    element.
    """

    def rule(attrs: Attrs, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
        old = old_in[0]
        if old is None:
            return None
        named = tuple(range(len(old))) if attrs["axis"] is None else tuple(a % len(old) for a in attrs["axis"])
        exclude = bool(attrs["exclude"]) and attrs["axis"] is not None
        if new_in is None or new_in[0] == old:
            over = {old.axes[a] for a in named}
            reduced = [a in over for a in old.axes]
            return _reduced(old, [r != exclude for r in reduced], len(old_in), attrs)
        new = new_in[0]
        if new is None or not translatable(old, new):
            return None
        letters = {old[a] for a in named}
        there = tuple(at for at, a in enumerate(new.axes) if a.letter in letters)
        reduced = [(at in there) != exclude for at in range(len(new))]
        if ordered and not _same_order(old, new, {a.letter for a, r in zip(new.axes, reduced, strict=True) if r}):
            return None
        made = attrs if attrs["axis"] is None else attrs.with_values(axis=there)
        return _reduced(new, reduced, len(old_in), made)

    return rule


def _reduced(source: Layout, reduced: Sequence[bool], inputs: int, attrs: Attrs) -> LayoutAnswer:
    flags = list(zip(source.axes, reduced, strict=True))
    ones = layout("".join(f"1{a.name}" if r and a.factor else str(a) for a, r in flags))
    output = ones if attrs["keepdims"] else source.take(at for at, r in enumerate(reduced) if not r)
    # What a variance takes beside the data is the mean, whose reduced axes have stayed.
    return _output([source, ones][:inputs], output, attrs)


def _same_order(old: Layout, new: Layout, letters: set[str]) -> bool:
    """Return whether going through some dimensions meets the elements in one order in both layouts."""
    there = [a.letter for a in new.axes if a.letter in letters]
    runs = [letter for at, letter in enumerate(there) if at == 0 or there[at - 1] != letter]
    return runs == [letter for letter in old.letters if letter in letters]


def strided_slice_layout(attrs: A, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
    """The bounds go with their axes; along a dimension in blocks they must lie between blocks."""
    (old,) = old_in
    if old is None:
        return None
    new = old if new_in is None else new_in[0]
    if new is None or new == old:
        return _output([old], old, attrs)
    if not translatable(old, new):
        return None
    bounds = _bounds(attrs, dims_of_tensor(types[0]))
    there: dict[int, tuple[int, int, int]] = {}
    for axis, (begin, end, stride) in bounds.items():
        block = new.block(old[axis])
        if block > 1 and (begin % block or end % block or stride != 1 or attrs["slice_mode"] == "size"):
            return None
        there[axis_in(old, new, axis)] = (begin // block, end // block, stride)
    if attrs["axes"] is None:
        inner = {at: (0, a.factor, 1) for at, a in enumerate(new.axes) if a.factor and at < max(there)}
        there = dict(sorted((there | inner).items()))
    begins, ends, strides = zip(*there.values(), strict=True)
    axes = None if attrs["axes"] is None else tuple(there)
    return _output([new], new, attrs.with_values(begin=begins, end=ends, strides=strides, axes=axes))


def _bounds(attrs: Attrs, dims: Sequence[Dim]) -> dict[int, tuple[int, int, int]]:
    """Return begin, end and stride for each axis that a slice names; without names, for all axes."""
    begins, ends, strides = (attrs.get_int_tuple(name) for name in ("begin", "end", "strides"))
    rank = len(dims)
    if attrs["axes"] is not None:
        axes = attrs.get_int_tuple("axes")
        return {a % rank: (begins[i], ends[i], strides[i] if i < len(strides) else 1) for i, a in enumerate(axes)}
    all_of = [-1 if attrs["slice_mode"] == "size" else d if isinstance(d, int) else FAR for d in dims]
    return {
        axis: (
            begins[axis] if axis < len(begins) else 0,
            ends[axis] if axis < len(ends) else all_of[axis],
            strides[axis] if axis < len(strides) else 1,
        )
        for axis in range(rank)
    }
