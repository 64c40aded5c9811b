"""Where the axis of scales and zero points is after an operator that only moves numbers."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from compiler.classic.relay.transform.quantization.fake_quantization import TensorAffineType
from compiler.relay.expr import Call
from compiler.relay.operator import op_name
from compiler.relay.transform.rewriter import dims_of
from compiler.relay.ty import Dim

_RESHAPES = ("reshape", "squeeze", "expand_dims", "nn.batch_flatten")


def is_per_axis(t: TensorAffineType) -> bool:
    """Return whether integers have scales or zero points along an axis, not one for all."""
    return any(dims_of(each) not in ((), (1,)) for each in (t.scale, t.zero_point))


def moved_type(call: Call, t: TensorAffineType) -> TensorAffineType | None:
    """Return what the integers stand for once an operator has moved them: the numbers of its first argument.

    None where the numbers of several scales come together on one axis.
    """
    if not is_per_axis(t):
        return t
    before, after = dims_of(call.args[0]), dims_of(call)
    if before is None or after is None:
        return None
    axis = _moved_axis(call, before, after, t.axis % len(before))
    return None if axis is None else replace(t, axis=axis)


def _moved_axis(call: Call, before: tuple[Dim, ...], after: tuple[Dim, ...], axis: int) -> int | None:
    name = op_name(call)
    if name == "transpose":
        axes = call.attrs["axes"] or range(len(before))[::-1]
        return [a % len(before) for a in axes].index(axis)
    if name in _RESHAPES:
        return _reshaped_axis(before, after, axis)
    if name in ("nn.max_pool2d", "image.resize2d"):
        return axis if call.attrs.get_str("layout")[axis] in "NC" else None
    if name == "strided_slice":
        forward = all(step > 0 for step in call.attrs["strides"] or ())
        return axis if forward and before[axis] == after[axis] else None
    return axis if name != "take" and before == after else None


def _reshaped_axis(before: tuple[Dim, ...], after: tuple[Dim, ...], axis: int) -> int | None:
    """Return which axis of the new shape goes through the elements as an axis of the old one does."""
    if not all(isinstance(d, int) for d in (*before, *after)):
        return None
    outside = prod(before[:axis])
    return next((d for d, e in enumerate(after) if e == before[axis] and prod(after[:d]) == outside), None)
