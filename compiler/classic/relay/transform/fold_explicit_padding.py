"""FoldExplicitPadding: folds pad operators into the padding of the next operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.ir.node import rebuild
from compiler.relay.expr import Call
from compiler.relay.op.nn.pad import PadAttrs
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, call_of, op_name, scalar_value, tensor_type
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.tir.layout.data_layout import layout
from compiler.topi.nn.convolution.conv import spatial_letters


class FoldExplicitPadding(RewritePass, required=("InferType",)):
    """Let convolutions and poolings pad their data themselves instead of reading a padded copy.

    Level 0; requires InferType.  The pad operator must add what the other one would add: zeros for a convolution and a
    mean, the zero point for a quantized convolution, the least number of the data type for a maximum; and it must pad
    spatial dimensions only.

    Examples
    --------
    ``FoldExplicitPadding()``::

        def @main(%x: Tensor[(1, 16, 8, 8), float32], %w: Tensor[(16, 16, 3, 3), float32]) {
          nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]), %w)
        }
        ->
        def @main(%x: Tensor[(1, 16, 8, 8), float32], %w: Tensor[(16, 16, 3, 3), float32]) {
          nn.conv2d(%x, %w, padding=[1, 1, 1, 1])
        }
    """

    def mutator(self) -> GraphMutator:
        return _Folder()


class _Folder(GraphMutator):
    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        fold = _RULES.get(op_name(new))
        pad = call_of(new.args[0], "nn.pad") if fold else None
        if fold is None or pad is None or PadAttrs.of(pad).pad_mode != "constant":
            return new
        changes = fold(new, pad)
        if changes is None:
            return new
        return rebuild(new, args=(pad.args[0], *new.args[1:]), attrs=new.attrs.with_values(**changes))


Changes = dict[str, Any]
"""New values of attributes."""


def _padding(call: Call, pad: Call, data_layout: str) -> Changes | None:
    axes, letters = layout(data_layout).axes, spatial_letters(data_layout)
    widths = {axis.letter: (0, 0) for axis in axes}
    for axis, (before, after) in zip(axes, PadAttrs.of(pad).pad_width, strict=True):
        if (before or after) and (axis.letter not in letters or axis.factor):
            return None
        widths[axis.letter] = (int(before), int(after)) if before or after else widths[axis.letter]
    sides = [widths[letter][side] for side in (0, 1) for letter in letters]
    return {"padding": tuple(own + more for own, more in zip(call.attrs["padding"], sides, strict=True))}


def _convolution(call: Call, pad: Call) -> Changes | None:
    return _padding(call, pad, call.attrs["data_layout"]) if scalar_value(pad.args[1]) == 0 else None


def _quantized_convolution(call: Call, pad: Call) -> Changes | None:
    zero_point, value = scalar_value(call.args[2]), scalar_value(pad.args[1])
    same = zero_point is not None and value == zero_point
    return _padding(call, pad, call.attrs["data_layout"]) if same else None


def _max_pool(call: Call, pad: Call) -> Changes | None:
    """The padding of a maximum is -inf; the least finite number is the same where each window reaches an element."""
    data, value = tensor_type(pad), scalar_value(pad.args[1])
    changes = _padding(call, pad, call.attrs["layout"])
    if data is None or value is None or changes is None:
        return None
    kind = numpy_dtype(data.dtype)
    if np.issubdtype(kind, np.integer):
        return changes if value == np.iinfo(kind).min else None
    least_serves = value == np.finfo(kind).min and _windows_reach_elements(call, changes["padding"])
    return changes if least_serves or value == -np.inf else None


def _windows_reach_elements(call: Call, padding: Sequence[int]) -> bool:
    sizes = zip(call.attrs["pool_size"], call.attrs["dilation"], strict=True)
    extents = [(size - 1) * dilation + 1 for size, dilation in sizes]
    full = not call.attrs["ceil_mode"]
    return full and all(more < extent for more, extent in zip(padding, extents * 2, strict=True))


def _avg_pool(call: Call, pad: Call) -> Changes | None:
    """Elements that an operator adds count for the mean behind it, so that all padding must count."""
    attrs = call.attrs
    if (
        scalar_value(pad.args[1]) != 0
        or attrs["ceil_mode"]
        or (any(attrs["padding"]) and not attrs["count_include_pad"])
    ):
        return None
    padding = _padding(call, pad, attrs["layout"])
    return None if padding is None else {**padding, "count_include_pad": True}


_RULES: dict[str, Callable[[Call, Call], Changes | None]] = {
    **{f"nn.conv{rank}d": _convolution for rank in (1, 2, 3)},
    **{f"nn.max_pool{rank}d": _max_pool for rank in (1, 2, 3)},
    **{f"nn.avg_pool{rank}d": _avg_pool for rank in (1, 2, 3)},
    "qnn.conv2d": _quantized_convolution,
}
