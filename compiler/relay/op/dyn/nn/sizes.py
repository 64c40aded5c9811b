"""Padding and upsampling by run-time amounts: ``dyn.nn.pad``, ``dyn.nn.upsampling``, ``dyn.nn.upsampling3d``."""

from __future__ import annotations

from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.dyn.image_types import image_relation
from compiler.relay.op.dyn.shapes import register_dynamic
from compiler.relay.op.nn.pad import pad
from compiler.relay.op.nn.upsampling import upsampling, upsampling3d
from compiler.relay.op.type_relations import tensor
from compiler.relay.operator import Types
from compiler.relay.ty import AnyDim, TensorType


def _pad_relation(types: Types, attrs: Attrs) -> Type:
    data, widths = tensor(types[0], "data"), tensor(types[1], "pad_width", 2)
    check_same_extent(widths.dims[0], len(data.dims), "the rows of pad_width and the dimensions of the data")
    check_same_extent(widths.dims[1], 2, "the columns of pad_width (before, after)")
    return TensorType(tuple(AnyDim() for _ in data.dims), data.dtype)


def _scales(letters: str) -> dict[str, str]:
    names = {"d": "depth", "h": "height", "w": "width"}
    return {f"scale_{letter}": f"Factor of the {names[letter]}, a scalar." for letter in letters}


register_dynamic(
    pad.op,
    {"pad_width": "Elements to add before and after each axis, ``(rank, 2)``."},
    _pad_relation,
    "The data with elements around it.",
    first=1,
)
register_dynamic(upsampling.op, _scales("hw"), image_relation, "The enlarged images.")
register_dynamic(upsampling3d.op, _scales("dhw"), image_relation, "The enlarged images.")
