"""Layout rules shared by operator families.

A rule says how the layouts of inputs and outputs go together, as :data:`compiler.relay.operator.LayoutRule` describes.
Those of operators whose attributes number axes are in ``axis_layouts``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.relay.named_layouts import CHANNELS
from compiler.relay.operator import InferCorrectLayoutOutput, InLayouts, LayoutAnswer, LayoutRule, Types
from compiler.relay.ty import Dim, TensorType, TupleType, same_dim
from compiler.tir.layout.data_layout import Layout, layout
from compiler.topi.operands import is_one

A = TypeVar("A", bound=Attrs)
SCALAR = layout("")


def same_layout(attrs: Attrs, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
    """An operator on single elements takes every layout, and keeps it."""
    chosen = next((each for each in new_in or old_in if each is not None), None)
    return None if chosen is None else InferCorrectLayoutOutput([chosen] * len(old_in), [chosen], attrs)


def broadcast_layout(attrs: Attrs, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
    """Both inputs take the layout of the one with more dimensions; what has one element only fits to any.

    Where one input has a single element along an axis that the other one has in blocks, its blocks are of one element:
    ``NCHW1c`` beside ``NCHW16c``.
    """
    layouts = _aligned(old_in, types) if new_in is None else _with_larger(new_in, old_in, types)
    if layouts is None:
        return None
    large = _larger(layouts if new_in is None else new_in, types)
    return InferCorrectLayoutOutput(layouts, [layouts[large]], attrs)


def selection_layout(attrs: Attrs, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
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
    return int(is_one_element(types[0]) and not is_one_element(types[1]))


def _aligned(old_in: InLayouts, types: Types) -> list[Layout] | None:
    """Return the layouts of both inputs in the old graph, where the last axes of both are the same ones."""
    lhs, rhs = (dims_of_tensor(t) for t in types)
    if old_in[1] is None or (old_in[0] is not None and len(old_in[0]) >= len(old_in[1])):
        large, small = old_in[0], _last_axes(old_in[0], lhs, rhs, old_in[1])
        return None if large is None or small is None else [large, small]
    small = _last_axes(old_in[1], rhs, lhs, old_in[0])
    return None if small is None else [small, old_in[1]]


def _last_axes(large: Layout | None, of: Sequence[Dim], dims: Sequence[Dim], given: Layout | None) -> Layout | None:
    """Return the layout of the smaller input, which is ``given`` if it is known; None if they conflict.

    What has one element along a dimension in blocks has one block of one element.  One block of many elements, or many
    of one, beside many blocks is not an extent of that dimension: it has no layout.
    """
    start = len(of) - len(dims)
    if large is None or start < 0 or len(of) != len(large):
        return None
    axes, narrow = large.axes[start:], set()
    for letter in {a.letter for a in axes if a.factor}:
        mine, its = ([d for a, d in zip(axes, e, strict=True) if a.letter == letter] for e in (dims, of[start:]))
        if all(map(is_one, mine)):
            narrow.add(letter)
        elif not all(map(same_dim, mine, its)):
            return None
    names = [f"1{a.name}" if a.factor and a.letter in narrow else str(a) for a in axes]
    last = None if large.take(range(start, len(of))) is None else layout("".join(names))
    return last if given is None or given == last else None


def _with_larger(new_in: InLayouts, old_in: InLayouts, types: Types) -> list[Layout] | None:
    lhs, rhs = new_in
    if lhs is None or rhs is None:
        return None
    layouts = [lhs, rhs]
    large = _larger(layouts, types)
    small = 1 - large
    same_rank = small == 1 and len(layouts[small].letters) == len(layouts[large].letters)
    if same_rank or not is_one_element(types[small]):
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


def is_one_element(t: Type) -> bool:
    return isinstance(t, TensorType) and all(map(is_one, t.dims))


def dims_of_tensor(t: Type) -> tuple[Dim, ...]:
    return t.dims if isinstance(t, TensorType) else ()


def quantized_layout(rule: LayoutRule[A], tensors: int | None = None) -> LayoutRule[A]:
    """Return the rule of an operator on quantized tensors: scales and zero points come after the tensors.

    ``rule`` is that of the operator on real numbers; ``tensors`` by default the number of elements of the first tuple.
    """

    def quantized(attrs: A, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
        first = types[0]
        count = tensors if tensors is not None else len(first.fields) if isinstance(first, TupleType) else 1
        made = rule(attrs, None if new_in is None else new_in[:count], old_in[:count], types[:count])
        if made is None:
            return None
        inputs = [*made.input_layouts, *[CHANNELS] * (len(old_in) - count)]
        return InferCorrectLayoutOutput(inputs, made.output_layouts, made.new_attrs)

    return quantized
