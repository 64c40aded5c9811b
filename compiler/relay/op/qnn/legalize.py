"""Legalization of integer data types for fast CPU instructions: ``qnn.transform.Legalize``, and its use in builds.

x86 CPUs multiply unsigned by signed bytes fast, ARM's with the dot product instructions bytes of one signedness.
Others get 16-bit numbers, from which the zero points are subtracted beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeGuard

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, array_const
from compiler.relay.op.qnn.arithmetic import centred, rank_of
from compiler.relay.operator import Array, call_op, op_name
from compiler.relay.ty import TensorType
from compiler.target.cpu.cpu_features import has_sse41
from compiler.target.target import Target
from compiler.topi.nn.product_sums import has_pair_products

LegalizeRule = Callable[[Any, Sequence[RelayExpr], Sequence[Type]], RelayExpr | None]

_DOT_PRODUCT = {"+v8.2a", "+dotprod"}
_SIGN_STEP = 128
"""What lies between the bytes of both signednesses that mean the same."""


def fast_dtypes(target: Target | None, data: str, weight: str) -> tuple[str, str] | None:
    """Return the data types of data and weight for a target that multiplies bytes fast; None for others."""
    if target is None:
        return None
    if target.kind == "cuda":
        return "int8", "int8"
    if target.mcpu and has_sse41(target.triple, target.cpu, target.llvm_features):
        return "uint8", "int8"
    return (weight, weight) if set(target.mattr) >= _DOT_PRODUCT else None


def factor_dtype(types: Sequence[Type], zero_points: Sequence[RelayExpr], out_dtype: str) -> str:
    """Return the data type in which the factors of a layer, less their zero points, are multiplied.

    It is ``int16`` for bytes, where the current target multiplies such integers in pairs and all differences are known
    to fit; else ``int32``.
    """
    target = Target.current()
    in_pairs = out_dtype == "int32" and target is not None and has_pair_products(target)
    fits = all(map(_is_bytes, types)) and all(map(_is_of_a_byte, zero_points))
    return "int16" if in_pairs and fits else "int32"


def _is_bytes(t: Type) -> TypeGuard[TensorType]:
    return isinstance(t, TensorType) and t.dtype in ("int8", "uint8")


def _is_of_a_byte(zero_point: RelayExpr) -> bool:
    values = _known(zero_point)
    return values is not None and bool(np.all((values >= np.iinfo("int8").min) & (values <= np.iinfo("uint8").max)))


def _known(zero_point: RelayExpr) -> Array | None:
    """Return the value of a constant, or of the sum that :func:`with_byte_dtypes` makes of one."""
    if isinstance(zero_point, Constant):
        return np.asarray(zero_point.data.view())
    if isinstance(zero_point, Call) and op_name(zero_point) == "add":
        first, second = map(_known, zero_point.args)
        return None if first is None or second is None else first + second
    return None


def legalize_layer(plain: str, axes: Callable[[Any], tuple[int, int]] | None = None) -> LegalizeRule:
    """Return the rule of a layer of integers for :class:`~compiler.relay.transform.Legalize`.

    ``plain`` is the operator that does the same without zero points; ``axes`` gives from attributes the axes of data
    and weight that zero points belong to, by default those of a convolution's layouts.
    """

    def rule(attrs: Any, args: Sequence[RelayExpr], types: Sequence[Type]) -> RelayExpr | None:
        data, weight = types[:2]
        if not (_is_bytes(data) and _is_bytes(weight)):
            return None
        where = axes(attrs) if axes else (attrs.data_layout.index("C"), attrs.kernel_layout.index("O"))
        dtypes = fast_dtypes(Target.current(), data.dtype, weight.dtype)
        if dtypes is not None:
            return with_byte_dtypes(partial(call_op, plain.replace("nn.", "qnn.")), dtypes, attrs, args, types)
        if not all(map(_is_of_a_byte, args[2:4])):
            return None  # the differences may need more than 16 bits
        pairs = zip(args[:2], args[2:4], where, types[:2], strict=True)
        return call_op(plain, *(centred(x, zero, axis, rank_of(t), "int16") for x, zero, axis, t in pairs), **attrs)

    return rule


def with_byte_dtypes(
    layer: Callable[..., RelayExpr],
    dtypes: tuple[str, str],
    attrs: Attrs,
    args: Sequence[RelayExpr],
    types: Sequence[Type],
) -> RelayExpr | None:
    """Return a layer of integers with data and weight of other data types, and their zero points moved as they are.

    ``layer`` makes it from inputs (data, weight, their zero points, and the scales) and attributes, such as
    ``qnn.op.conv2d``.  None where data and weight have these data types, ``int8`` or ``uint8``.
    """
    earlier = tuple(t.dtype for t in types[:2] if isinstance(t, TensorType))
    if dtypes == earlier:
        return None
    inputs, zero_points = list(args[:2]), list(args[2:4])
    for i, (old, new) in enumerate(zip(earlier, dtypes, strict=True)):
        if old != new:
            step = _SIGN_STEP if new == "uint8" else -_SIGN_STEP
            inputs[i] = _moved(inputs[i], step, new)
            zero_points[i] = call_op("add", zero_points[i], array_const(np.asarray(step, "int32")))
    return layer(*inputs, *zero_points, *args[4:], **attrs)


def _moved(x: RelayExpr, step: int, dtype: str) -> RelayExpr:
    """Return bytes as those of the other signedness."""
    wide = call_op("cast", x, dtype="int32")
    return call_op("cast", call_op("add", wide, array_const(np.asarray(step, "int32"))), dtype=dtype)
