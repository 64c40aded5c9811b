"""Layouts that attributes of operators name: of which operand, and of the result.

The names of attributes and inputs say it once for all operators: ``layout`` and ``data_layout`` are those of the
images, ``kernel_layout`` of the weight, ``out_layout`` of a convolution's result.  Layout inference, AlterOpLayout and
ConvertLayout read it here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError, AttrsError
from compiler.ir.types import Type
from compiler.relay.operator import (
    InferCorrectLayoutOutput,
    InLayouts,
    LayoutAnswer,
    LayoutRule,
    RelationError,
    RelayOp,
    Types,
)
from compiler.relay.ty import TensorType
from compiler.tir.layout.data_layout import Layout, layout

CHANNELS = layout("C")
"""What inputs without a layout are said to have: most are vectors with an element for each channel, or scalars."""

_OPERANDS: Mapping[str, tuple[str, ...]] = {
    "layout": ("data", "data1", "data2", "out_grad"),
    "data_layout": ("data", "offset"),
    "grad_layout": ("grad",),
    "kernel_layout": ("weight", "kernel"),
    "weight_layout": ("weight",),
}
"""Which inputs have the layout that an attribute names."""
_IMAGES = ("data_layout", "layout")


@dataclass(frozen=True, slots=True)
class NamedLayouts:
    """Which attributes of an operator name layouts.

    Attributes
    ----------
    inputs : tuple of str
        For each input the attribute that names its layout; empty where none does.
    images, weight : str
        The attributes that name the layouts of the images and of the weight, be it an input or the result;
        empty where there is none.
    results : tuple of str
        Attributes that name the layout of the result: the first one that is not empty.
    """

    op: RelayOp
    inputs: tuple[str, ...]
    images: str
    weight: str
    results: tuple[str, ...]

    @staticmethod
    def of(op: RelayOp) -> NamedLayouts | None:
        """Return what an operator's row says about layouts; None if it says nothing, or waives the rule."""
        images = next((name for name in _IMAGES if name in op.attributes), "")
        if not images or "layout" in op.waived:
            return None
        by_input = {each: name for name, inputs in _OPERANDS.items() if name in op.attributes for each in inputs}
        inputs = tuple(by_input.get(each, "") for each in op.inputs)
        weight = "kernel_layout" if "kernel_layout" in op.attributes else ""
        if weight and weight not in inputs:
            return NamedLayouts(op, inputs, images, weight, (weight,))
        # Pools have an ``out_layout`` that says nothing: their results are in the layout of the data.
        results = ("out_layout", images) if images == "data_layout" and "out_layout" in op.attributes else (images,)
        return NamedLayouts(op, inputs, images, weight, results)

    @property
    def of_images(self) -> tuple[str, ...]:
        """The attributes that name layouts of images, which are all converted alike."""
        return tuple(dict.fromkeys(each for each in self.inputs if each and each != self.weight))

    def layouts(self, attrs: Attrs) -> InferCorrectLayoutOutput:
        """Return the layouts that the attributes of a call name."""
        inputs = [layout(attrs.get_str(name)) if name else CHANNELS for name in self.inputs]
        result = next(attrs.get_str(name) for name in self.results if attrs.get_str(name))
        return InferCorrectLayoutOutput(inputs, [layout(result)], attrs)

    def fit(self, attrs: Attrs, types: Types) -> bool:
        """Return whether operands have as many axes as the layouts that are named for them."""
        for name, t in zip(self.inputs, types, strict=True):
            if name and not (isinstance(t, TensorType) and len(t.dims) == len(layout(attrs.get_str(name)))):
                return False
        return True

    def accepted(self, attrs: Attrs, changes: Mapping[str, Any], types: Types) -> Attrs | None:
        """Return attributes with other layouts; None if the operator has no such form for operands of these types.

        The types are those of the operands in the layouts that ``attrs`` names.
        """
        try:
            made = attrs.with_values(**changes)
            before, after = self.layouts(attrs).input_layouts, self.layouts(made).input_layouts
            there = [_in_layout(t, *pair) for t, pair in zip(types, zip(before, after, strict=True), strict=True)]
            if self.op.relation is not None:
                self.op.relation(tuple(there), made)
        except (AttrsError, ArgumentError, RelationError):
            return None
        return made


def _in_layout(t: Type, source: Layout | None, target: Layout | None) -> Type:
    if source == target or source is None or target is None or not isinstance(t, TensorType):
        return t
    if set(source.letters) != set(target.letters):
        raise ArgumentError(f"a tensor of layout {source} cannot be converted to layout {target}")
    return TensorType(target.shape(source.extents(t.dims)), t.dtype)


def named_layout_rule(op: RelayOp) -> LayoutRule[Any] | None:
    """Return the layout rule that follows from the attributes of an operator; None if they name no layouts.

    An operator on images alone follows its data into another layout that it has, unless that splits spatial
    dimensions; it keeps its own where an attribute ``out_layout`` says so, or where it has just been altered.
    """
    named = NamedLayouts.of(op)
    if named is None:
        return None

    def rule(attrs: Attrs, new_in: InLayouts | None, old_in: InLayouts, types: Types) -> LayoutAnswer:
        if new_in is None and not named.fit(attrs, types):
            return None
        own, at = layout(attrs.get_str(named.images)), named.inputs.index(named.images)
        altered = named.images != "layout" or bool(attrs.get("out_layout")) or old_in[at] not in (None, own)
        wanted = new_in[at] if new_in and not altered else None
        followed = None
        if wanted is not None and wanted != own and not any(a.factor and a.letter != "C" for a in wanted.axes):
            followed = named.accepted(attrs, dict.fromkeys(named.of_images, str(wanted)), types)
        return named.layouts(followed or attrs)

    return rule
