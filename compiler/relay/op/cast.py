"""Data type conversions: ``cast``, ``cast_like``, ``reinterpret``."""

from __future__ import annotations

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import DTYPE
from compiler.ir.types import Type
from compiler.relay.op.common import NOT_SMOOTH
from compiler.relay.op.layout_rules import same_layout
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, RelationError, Types, call_op
from compiler.relay.ty import TensorType
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.topi import elementwise as topi


def _cast_relation(types: Types, attrs: CastAttrs) -> Type:
    """The shape of the data, and data type ``dtype``."""
    data = tensor(types[0], "data")
    return TensorType(data.shape, attrs.dtype)


class CastAttrs(Attrs):
    """Attributes of ``cast`` and ``reinterpret``."""

    dtype: str = attr_field(DTYPE, "Data type of the result.")


def converted(x: Array, dtype: str) -> Array:
    """Return a NumPy array as another data type; numbers that do not fit wrap around."""
    kind = numpy_dtype(dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        if dtype != "bool" and x.dtype.kind == "f" and kind.kind in "iu":
            return np.trunc(x).astype("int64").astype(kind) if kind != np.uint64 else x.astype(kind)
        return x.astype(kind)


cast = register(
    "cast",
    doc="Convert numbers to another data type; fractions are cut off, and nonzero is true.",
    inputs={"data": "The tensor to convert."},
    attrs=CastAttrs,
    relation=_cast_relation,
    pattern=OpPattern.ELEMWISE,
    definition=topi.cast,
    reference=lambda attrs, x: converted(x, attrs.dtype),
    gradient=lambda call, grad: [call_op("cast", grad, dtype=call.args[0].checked_type.dtype)],
    layout=same_layout,
)


def _cast_like_relation(types: Types, attrs: Attrs) -> Type:
    """The shape of the data, and the data type of ``dtype_like``."""
    data, like = tensor(types[0], "data"), tensor(types[1], "dtype_like")
    return TensorType(data.shape, like.dtype)


cast_like = register(
    "cast_like",
    doc="Convert numbers to the data type of another tensor.",
    inputs={"data": "The tensor to convert.", "dtype_like": "The tensor whose data type to take."},
    relation=_cast_like_relation,
    pattern=OpPattern.ELEMWISE,
    compute=lambda attrs, inputs, out_type: [topi.cast(inputs[0], inputs[1].dtype)],
    reference=lambda attrs, x, like: converted(x, str(like.dtype)),
    gradient=lambda call, grad: [call_op("cast_like", grad, call.args[0]), call_op("zeros_like", call.args[1])],
)


def _reinterpret_relation(types: Types, attrs: CastAttrs) -> Type:
    """The shape of the data, and data type ``dtype``."""
    data = tensor(types[0], "data")
    if dt.bits(data.dtype) != dt.bits(attrs.dtype):
        raise RelationError(f"dtype must have as many bits as {data.dtype}, got {attrs.dtype}")
    return TensorType(data.shape, attrs.dtype)


reinterpret = register(
    "reinterpret",
    doc="Read the same bits as another data type of the same width.",
    inputs={"data": "The tensor to reinterpret."},
    attrs=CastAttrs,
    relation=_reinterpret_relation,
    pattern=OpPattern.ELEMWISE,
    definition=topi.reinterpret,
    reference=lambda attrs, x: x.view(numpy_dtype(attrs.dtype)).copy(),
    layout=same_layout,
    waived=NOT_SMOOTH,
)
