"""Padding: ``nn.pad``, ``nn.mirror_pad``."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.attrs import REQUIRED, Attrs
from compiler.ir.error import ArgumentError, show
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, const
from compiler.relay.op.common import unknown
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, RelationError, Types, call_op
from compiler.relay.ty import AnyDim, Dim, TensorType
from compiler.topi.nn import pad as topi

_MODES = ("constant", "edge", "reflect", "wrap")


def _padded(data: TensorType, pad_width: Any) -> TensorType:
    if len(pad_width) != len(data.dims):
        raise RelationError(f"pad_width must have a pair for each of {len(data.dims)} axes, got {len(pad_width)}")
    shape: list[Dim] = []
    for extent, (low, high) in zip(data.dims, pad_width, strict=True):
        padded = AnyDim() if unknown(extent) else extent + low + high
        if isinstance(padded, int) and padded < 0:
            raise RelationError(f"an extent of {extent} cannot be padded by {low} and {high}")
        shape.append(padded)
    return TensorType(tuple(shape), data.dtype)


def _mirrored(data: TensorType, pad_width: Any, reach: int) -> TensorType:
    """Return the padded type; only what is there can be mirrored."""
    padded = _padded(data, pad_width)
    for extent, pair in zip(data.dims, pad_width, strict=True):
        if isinstance(extent, int) and max(pair) > extent - reach:
            raise RelationError(f"{max(pair)} elements cannot be mirrored from an extent of {extent}")
    return padded


def _relation(types: Types, attrs: Attrs) -> Type:
    data = tensor(types[0], "data")
    return _mirrored(data, attrs.pad_width, 1) if attrs.pad_mode == "reflect" else _padded(data, attrs.pad_width)


def _sides(attrs: Attrs) -> tuple[list[int], list[int]]:
    return [low for low, _ in attrs.pad_width], [high for _, high in attrs.pad_width]


def _compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    data, value = inputs
    before, after = _sides(attrs)
    if attrs.pad_mode == "constant":
        fill = value(*([0] * value.ndim)).astype(data.dtype)
        return [topi.pad(data, before, after, fill) if any(before + after) else topi.pad_edge(data, before, after)]
    return [
        {"edge": topi.pad_edge, "reflect": topi.pad_reflect, "wrap": topi.pad_wrap}[attrs.pad_mode](data, before, after)
    ]


def cut(x: Any, pad_width: Any) -> tuple[Any, list[tuple[int, int]]]:
    """Return an array without what negative padding takes away, and the padding that is left."""
    kept = tuple(slice(max(0, -low), n - max(0, -high)) for n, (low, high) in zip(x.shape, pad_width, strict=True))
    return x[kept], [(max(0, low), max(0, high)) for low, high in pad_width]


def _reference(attrs: Attrs, x: Any, value: Any) -> Any:
    x, around = cut(x, attrs.pad_width)
    if attrs.pad_mode == "constant":
        return np.pad(x, around, constant_values=np.asarray(value).reshape(()).astype(x.dtype))
    return np.pad(x, around, mode=attrs.pad_mode)


def _gradient(call: Call, grad: Expr) -> list[Expr]:
    if call.attrs.pad_mode != "constant":
        raise ArgumentError(f"gradient of nn.pad: pad_mode must be 'constant', got {call.attrs.pad_mode!r}")
    data, value = call.args
    begin = tuple(low for low, _ in call.attrs.pad_width)
    end = tuple(low + n for low, n in zip(begin, data.checked_type.concrete_shape, strict=True))
    inner = call_op("strided_slice", grad, begin=begin, end=end, strides=(1,) * len(begin))
    rest = call_op("subtract", call_op("sum", grad), call_op("sum", inner))
    return [inner, call_op("reshape_like", rest, value)]


_PAD = register(
    "nn.pad",
    doc="More elements around a tensor: a constant, the outermost ones again, mirrored or repeated.",
    inputs=("data", "pad_value"),
    attributes={"pad_width": REQUIRED, "pad_mode": "constant"},
    relation=_relation,
    pattern=OpPattern.INJECTIVE,
    compute=_compute,
    reference=_reference,
    gradient=_gradient,
)


def _mirror_relation(types: Types, attrs: Attrs) -> Type:
    return _mirrored(tensor(types[0], "data"), attrs.pad_width, 1 if attrs.mode == "REFLECT" else 0)


def _mirror_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.pad_reflect(inputs[0], *_sides(attrs), mode=attrs.mode)]


def _mirror_reference(attrs: Attrs, x: Any) -> Any:
    return np.pad(x, attrs.pad_width, mode="symmetric" if attrs.mode == "SYMMETRIC" else "reflect")


_MIRROR_PAD = register(
    "nn.mirror_pad",
    doc="A tensor with its own elements around it, as mirrors at its ends show them.",
    inputs=("data",),
    parameters=("data", "pad_width", "mode"),
    attributes={"mode": "SYMMETRIC", "pad_width": REQUIRED},
    relation=_mirror_relation,
    pattern=OpPattern.INJECTIVE,
    compute=_mirror_compute,
    reference=_mirror_reference,
    waived={"gradient": "adds up elements that were mirrored, which no operator here does"},
)


def _widths(function: str, pad_width: Any) -> tuple[tuple[int, int], ...]:
    try:
        return tuple((int(low), int(high)) for low, high in pad_width)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{function}: pad_width must be a pair of ints for each axis, got {show(pad_width)}"
        ) from None


def pad(data: Expr, pad_width: Any, pad_value: Any = 0, pad_mode: str = "constant") -> Call:
    """Return ``data`` with elements around it.

    Parameters
    ----------
    pad_width : sequence of pairs of int
        How many before and after each axis.
    pad_value : Expr or number
        The constant of mode ``constant``.
    pad_mode : str
        ``constant``, ``edge``, ``reflect`` or ``wrap``.
    """
    if pad_mode not in _MODES:
        raise ArgumentError(f"nn.pad: pad_mode must be one of {', '.join(_MODES)}, got {show(pad_mode)}")
    value = pad_value if isinstance(pad_value, Expr) else const(pad_value)
    return _PAD(data, value, pad_width=_widths("nn.pad", pad_width), pad_mode=pad_mode)


def mirror_pad(data: Expr, pad_width: Any, mode: str = "SYMMETRIC") -> Call:
    """Return ``data`` mirrored at its ends; ``SYMMETRIC`` repeats the outermost elements, ``REFLECT`` does not."""
    if mode not in ("SYMMETRIC", "REFLECT"):
        raise ArgumentError(f"nn.mirror_pad: mode must be SYMMETRIC or REFLECT, got {show(mode)}")
    return _MIRROR_PAD(data, pad_width=_widths("nn.mirror_pad", pad_width), mode=mode)
