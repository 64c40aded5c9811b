"""Type relations of resizing to a size computed at run time."""

from __future__ import annotations

from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.relay.op.nn.spatial import extents
from compiler.relay.op.type_relations import tensor
from compiler.relay.operator import Types
from compiler.relay.ty import AnyDim, TensorType
from compiler.tir.layout.data_layout import layout
from compiler.topi.nn.convolution.conv import spatial_letters


def image_relation(types: Types, attrs: Attrs) -> Type:
    """Images in ``layout`` whose spatial extents nobody knows."""
    data, where = tensor(types[0], "data"), layout(attrs.get_str("layout"))
    free = {letter: AnyDim() for letter in spatial_letters(attrs.get_str("layout"))}
    out_dtype = attrs.get("out_dtype")
    return TensorType(where.shape({**extents(data, where, "data"), **free}), out_dtype or data.dtype)
