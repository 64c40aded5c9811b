"""Other data types: ``cast``, ``cast_like``, ``reinterpret``."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.attrs import REQUIRED, Attrs
from compiler.ir.error import DTypeError, show
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op.common import NOT_SMOOTH, same_layout
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import TensorType
from compiler.topi import elementwise as topi


def _checked(dtype: Any, operator: str) -> str:
    if not isinstance(dtype, str):
        raise DTypeError(f"{operator}: dtype must be a string, got {show(dtype)}")
    dt.parse(dtype)
    return dtype


def _cast_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    return TensorType(data.shape, attrs.dtype)


def converted(x: Any, dtype: str) -> Any:
    """Return a NumPy array as another data type; numbers that do not fit wrap around."""
    if dtype != "bool" and x.dtype.kind == "f" and np.dtype(dtype).kind in "iu":
        return np.trunc(x).astype("int64").astype(dtype) if np.dtype(dtype) != np.uint64 else x.astype(dtype)
    return x.astype(dtype)


_CAST = register(
    "cast",
    doc="The same numbers as another data type; fractions are cut off.",
    inputs=("data",),
    attributes={"dtype": REQUIRED},
    relation=_cast_relation,
    pattern=OpPattern.ELEMWISE,
    compute=lambda attrs, inputs, out_type: [topi.cast(inputs[0], attrs.dtype)],
    reference=lambda attrs, x: converted(x, attrs.dtype),
    gradient=lambda call, grad: [call_op("cast", grad, dtype=call.args[0].checked_type.dtype)],
    layout=same_layout,
)


def cast(data: Expr, dtype: str) -> Call:
    """Return ``data`` as another data type; fractions are cut off, and truth is what is not zero."""
    return _CAST(data, dtype=_checked(dtype, "cast"))


def _cast_like_relation(types: Types, attrs: Attrs) -> Type:
    data, like = tensor(types[0], "data"), tensor(types[1], "dtype_like")
    return TensorType(data.shape, like.dtype)


_CAST_LIKE = register(
    "cast_like",
    doc="The same numbers as the data type of another tensor.",
    inputs=("data", "dtype_like"),
    relation=_cast_like_relation,
    pattern=OpPattern.ELEMWISE,
    compute=lambda attrs, inputs, out_type: [topi.cast(inputs[0], inputs[1].dtype)],
    reference=lambda attrs, x, like: converted(x, str(like.dtype)),
    gradient=lambda call, grad: [call_op("cast_like", grad, call.args[0]), call_op("zeros_like", call.args[1])],
)


def cast_like(data: Expr, dtype_like: Expr) -> Call:
    """Return ``data`` as the data type of another tensor."""
    return _CAST_LIKE(data, dtype_like)


def _reinterpret_relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    if dt.bits(data.dtype) != dt.bits(attrs.dtype):
        raise RelationError(f"dtype must have as many bits as {data.dtype}, got {attrs.dtype}")
    return TensorType(data.shape, attrs.dtype)


_REINTERPRET = register(
    "reinterpret",
    doc="The same bits as another data type.",
    inputs=("data",),
    attributes={"dtype": REQUIRED},
    relation=_reinterpret_relation,
    pattern=OpPattern.ELEMWISE,
    compute=lambda attrs, inputs, out_type: [topi.reinterpret(inputs[0], attrs.dtype)],
    reference=lambda attrs, x: x.view(attrs.dtype).copy(),
    layout=same_layout,
    waived=NOT_SMOOTH,
)


def reinterpret(data: Expr, dtype: str) -> Call:
    """Return the bits of ``data`` read as another data type of the same size."""
    return _REINTERPRET(data, dtype=_checked(dtype, "reinterpret"))
