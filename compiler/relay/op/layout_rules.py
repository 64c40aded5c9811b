"""Layout rules shared by operator families.

A rule says how the layouts of inputs and outputs go together, as :data:`compiler.relay.operator.LayoutRule` describes.
Those of operators whose attributes number axes are in ``axis_layouts``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.relay.operator import InferCorrectLayoutOutput, InLayouts, LayoutRule, Types
from compiler.relay.ty import TensorType, TupleType
from compiler.tir.data_layout import Layout, layout

__all__ = [
    "broadcast_layout",
    "convolution_layout",
    "data_layout",
    "deformable_layout",
    "fixed_layouts",
    "quantized_layout",
    "same_layout",
    "selection_layout",
]

A = TypeVar("A", bound=Attrs)
CHANNELS = layout("C")
"""The layout of a vector with an element for each channel; a scalar may stand for it."""
SCALAR = layout("")


def same_layout(
    attrs: Attrs, new_in: InLayouts | None, old_in: InLayouts, types: Types
) -> InferCorrectLayoutOutput | None:
    """An operator on single elements takes every layout, and keeps it."""
    chosen = next((each for each in new_in or old_in if each is not None), None)
    return None if chosen is None else InferCorrectLayoutOutput([chosen] * len(old_in), [chosen], attrs)


def broadcast_layout(
    attrs: Attrs, new_in: InLayouts | None, old_in: InLayouts, types: Types
) -> InferCorrectLayoutOutput | None:
    """Both inputs take the layout of the one with more dimensions; what has one element only fits to any.

    Where one input has a single element along an axis that the other one has in blocks, its blocks are of one element:
    ``NCHW1c`` beside ``NCHW16c``.
    """
    layouts = _aligned(old_in, types) if new_in is None else _with_larger(new_in, old_in, types)
    if layouts is None:
        return None
    large = _larger(layouts if new_in is None else new_in, types)
    return InferCorrectLayoutOutput(layouts, [layouts[large]], attrs)


def selection_layout(
    attrs: Attrs, new_in: InLayouts | None, old_in: InLayouts, types: Types
) -> InferCorrectLayoutOutput | None:
    """All of any number of inputs take the layout of the first that has one, if none of them is broadcast."""
    shapes = {t.dims for t in types if isinstance(t, TensorType)}
    layout = next((each for each in (old_in if new_in is None else new_in) if each is not None), None)
    if layout is None or len(shapes) != 1:
        return None
    return InferCorrectLayoutOutput([layout] * len(types), [layout], attrs)


def _larger(layouts: InLayouts, types: Types) -> int:
    ranks = [0 if each is None else len(each.letters) for each in layouts]
    if ranks[0] != ranks[1]:
        return int(ranks[1] > ranks[0])
    return int(_is_one_element(types[0]) and not _is_one_element(types[1]))


def _aligned(old_in: InLayouts, types: Types) -> list[Layout] | None:
    """Return the layouts of both inputs in the old graph, where the last axes of both are the same ones."""
    lhs, rhs = old_in
    ranks = [len(t.dims) if isinstance(t, TensorType) else 0 for t in types]
    if lhs is None and rhs is None:
        return None
    if rhs is None or (lhs is not None and len(lhs) >= len(rhs)):
        rhs = _last_axes(lhs, ranks[1], rhs)
    elif lhs is None or len(lhs) < len(rhs):
        lhs = _last_axes(rhs, ranks[0], lhs)
    return None if lhs is None or rhs is None else [lhs, rhs]


def _last_axes(large: Layout | None, rank: int, given: Layout | None) -> Layout | None:
    """Return the layout of the smaller input, which is ``given`` if it is known; None if they conflict."""
    if large is None or rank > len(large):
        return None
    last = large.take(range(len(large) - rank, len(large)))
    return last if given is None or given == last else None


def _with_larger(new_in: InLayouts, old_in: InLayouts, types: Types) -> list[Layout] | None:
    lhs, rhs = new_in
    if lhs is None or rhs is None:
        return None
    layouts = [lhs, rhs]
    large = _larger(layouts, types)
    small = 1 - large
    same_rank = small == 1 and len(layouts[small].letters) == len(layouts[large].letters)
    if same_rank or not _is_one_element(types[small]):
        if not set(layouts[small].letters) <= set(layouts[large].letters):
            return None
        layouts[small] = _with_blocks_of_one(layouts[large], old_in, types, small)
    return layouts


def _with_blocks_of_one(large: Layout, old_in: InLayouts, types: Types, small: int) -> Layout:
    """Return the layout of the larger input for the smaller one, which may have one element where that has many."""
    before, t = _aligned(old_in, types), types[small]
    if before is None or not isinstance(t, TensorType):
        return large
    extents = before[small].extents(t.dims)
    narrow = [f"1{a.name}" if a.factor and extents.get(a.letter, 1) == 1 else str(a) for a in large.axes]
    return layout("".join(narrow))


def _is_one_element(t: Type) -> bool:
    return isinstance(t, TensorType) and all(isinstance(d, int) and d == 1 for d in t.dims)


class _ConvolutionAttrs(Protocol):
    @property
    def data_layout(self) -> str: ...
    @property
    def kernel_layout(self) -> str: ...
    @property
    def result_layout(self) -> str: ...


def convolution_layout(
    attrs: Any, new_in: InLayouts | None, old_in: InLayouts, types: Types
) -> InferCorrectLayoutOutput:
    """A convolution is written for the layouts that its attributes name; its inputs have to come in them."""
    written: _ConvolutionAttrs = attrs
    inputs = [layout(written.data_layout), layout(written.kernel_layout)]
    more = [CHANNELS] * (len(old_in) - len(inputs))
    return InferCorrectLayoutOutput(inputs + more, [layout(written.result_layout)], attrs)


def deformable_layout(
    attrs: Any, new_in: InLayouts | None, old_in: InLayouts, types: Types
) -> InferCorrectLayoutOutput:
    """A convolution whose windows are moved has its offsets in the layout of its data."""
    made = convolution_layout(attrs, new_in, old_in[1:], types)
    return InferCorrectLayoutOutput([made.input_layouts[0], *made.input_layouts], made.output_layouts, attrs)


def fixed_layouts(inputs: Sequence[str], outputs: Sequence[str]) -> LayoutRule[Attrs]:
    """Return the rule of an operator whose layouts are always the same.

    Parameters
    ----------
    inputs, outputs : sequence of str
    """
    before, after = [layout(name) for name in inputs], [layout(name) for name in outputs]

    def rule(attrs: Attrs, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> InferCorrectLayoutOutput:
        return InferCorrectLayoutOutput(before, after, attrs)

    return rule


def data_layout(attrs: A, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> InferCorrectLayoutOutput | None:
    """An operator on images, whose attribute ``layout`` follows its data, unless that splits spatial dimensions.

    It keeps its own layout where an attribute ``out_layout`` says so, or where it has just been altered.
    """
    own = layout(attrs.get_str("layout"))
    chosen = own
    altered = bool(attrs.get("out_layout")) or old_in[0] not in (None, own)
    if new_in and new_in[0] is not None and not altered:
        chosen = new_in[0]
    if any(a.factor and a.letter != "C" for a in chosen.axes) or set(chosen.letters) != set(own.letters):
        chosen = own
    made = attrs if chosen == own else attrs.with_values(layout=str(chosen))
    others = [CHANNELS] * (len(old_in) - 1)
    return InferCorrectLayoutOutput([chosen, *others], [chosen], made)


def quantized_layout(rule: LayoutRule[A], tensors: int | None = None) -> LayoutRule[A]:
    """Return the rule of an operator on quantized tensors: scales and zero points come after the tensors.

    Parameters
    ----------
    rule : callable
        That of the same operator on real numbers.
    tensors : int, optional
        How many there are; by default the elements of the tuple that comes first.
    """

    def quantized(
        attrs: A, new_in: InLayouts | None, old_in: InLayouts, types: Types
    ) -> InferCorrectLayoutOutput | None:
        first = types[0]
        count = tensors if tensors is not None else len(first.fields) if isinstance(first, TupleType) else 1
        made = rule(attrs, None if new_in is None else new_in[:count], old_in[:count], types[:count])
        if made is None:
            return None
        inputs = [*made.input_layouts, *[CHANNELS] * (len(old_in) - count)]
        return InferCorrectLayoutOutput(inputs, made.output_layouts, made.new_attrs)

    return quantized
