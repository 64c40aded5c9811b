"""Weight gradients of convolutions: ``nn.conv2d_backward_weight``."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import te
from compiler.ir.attrs import attr_field
from compiler.ir.attrs.kinds import STRING
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent
from compiler.relay.op.nn.conv_attrs import ConvAttrs
from compiler.relay.op.nn.spatial import extents, windows
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, RelationError, Types
from compiler.relay.ty import TensorType
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.nn.pad import pad


class Conv2DBackwardWeightAttrs(ConvAttrs):
    RANK = 2
    grad_layout: str = attr_field(STRING, "Layout of the result's gradient, such as ``NCHW``.", "NCHW")
    data_layout: str = attr_field(STRING, "Layout of the data, such as ``NCHW``.", "NCHW")
    kernel_layout: str = attr_field(STRING, "Layout of the weight's gradient, such as ``OIHW``.", "OIHW")


def _relation(types: Types, attrs: Conv2DBackwardWeightAttrs) -> Type:
    """The type of the weight."""
    grad, data = tensor(types[0], "grad", 4), tensor(types[1], "data", 4)
    y = extents(grad, layout(attrs.grad_layout), "grad")
    x = extents(data, layout(attrs.data_layout), "data")
    check_same_extent(y["N"], x["N"], "the batches of grad and data")
    if attrs.channels is not None:
        check_same_extent(attrs.channels, y["C"], "channels and the channels of grad")
    if attrs.kernel_size is None:
        raise RelationError("kernel_size must be given: the result's shape does not determine it")
    if y["C"] % attrs.groups or x["C"] % attrs.groups:
        raise RelationError(f"the channels {y['C']} and {x['C']} must be multiples of groups={attrs.groups}")
    w = {"O": y["C"], "I": x["C"] // attrs.groups, **dict(zip("HW", attrs.kernel_size, strict=True))}
    for d, letter in enumerate("HW"):
        reached = (y[letter] - 1) * attrs.strides[d] + (attrs.kernel_size[d] - 1) * attrs.dilation[d] + 1
        around = attrs.padding[d] + attrs.padding[d + 2]
        if isinstance(x[letter], int) and isinstance(reached, int) and reached > x[letter] + around:
            raise RelationError(f"{letter}: grad and kernel_size reach {reached} elements of {x[letter] + around}")
    return TensorType(layout(attrs.kernel_layout).shape(w), attrs.out_dtype or grad.dtype)


def _compute(attrs: Conv2DBackwardWeightAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    grad, data = inputs
    assert isinstance(out_type, TensorType)
    dtype = out_type.dtype
    grad_layout, data_layout, kernel_layout = attrs.grad_layout, attrs.data_layout, attrs.kernel_layout
    y = dict(zip(grad_layout, grad.shape, strict=True))
    before, after = dict(zip("HW", attrs.padding[:2], strict=True)), dict(zip("HW", attrs.padding[2:], strict=True))
    padded = pad(data, [before.get(c, 0) for c in data_layout], [after.get(c, 0) for c in data_layout])
    n, i, j = (te.reduce_axis((0, y[letter]), name=letter.lower()) for letter in "NHW")
    per_group, outputs = dict(zip(kernel_layout, out_type.dims, strict=True))["I"], y["C"] // attrs.groups
    (sh, sw), (dh, dw) = attrs.strides, attrs.dilation

    def element(*at: Any) -> Any:
        k = dict(zip(kernel_layout, at, strict=True))
        out = {"N": n, "C": k["O"], "H": i, "W": j}
        seen = {
            "N": n,
            "C": te.floordiv(k["O"], outputs) * per_group + k["I"] if attrs.groups > 1 else k["I"],
            "H": i * sh + k["H"] * dh,
            "W": j * sw + k["W"] * dw,
        }
        product = [grad(*(out[c] for c in grad_layout)), padded(*(seen[c] for c in data_layout))]
        left, right = (value.astype(dtype) for value in product)
        return te.sum(left * right, axis=[n, i, j])

    return [te.compute(out_type.dims, element, name="conv2d_backward_weight", tag="conv2d_backward_weight")]


def _reference(attrs: Conv2DBackwardWeightAttrs, grad: Array, data: Array) -> Array:
    dtype = attrs.out_dtype or grad.dtype
    y = layout(attrs.grad_layout).to_plain(grad, "NCHW").astype(dtype)
    x = layout(attrs.data_layout).to_plain(data, "NCHW").astype(dtype)
    assert attrs.kernel_size is not None
    around = [(0, 0), (0, 0), *zip(attrs.padding[:2], attrs.padding[2:], strict=True)]
    seen = windows(np.pad(x, around), attrs.kernel_size, attrs.strides, attrs.dilation)
    seen = seen[:, :, : y.shape[2], : y.shape[3]]  # the convolution's windows need not reach the end
    groups = [
        np.einsum("noyx,niyxhw->oihw", out, part)
        for out, part in zip(np.split(y, attrs.groups, 1), np.split(seen, attrs.groups, 1), strict=True)
    ]
    return layout(attrs.kernel_layout).from_plain(np.concatenate(groups), "OIHW").astype(dtype)


conv2d_backward_weight = register(
    "nn.conv2d_backward_weight",
    doc="Return the gradient of a convolution's weight.",
    inputs={"grad": "The gradient of the convolution's result, in ``grad_layout``.", "data": "What it convolved."},
    attrs=Conv2DBackwardWeightAttrs,
    spelt_out=("padding",),
    parameters=(
        *("grad", "data", "strides", "padding", "dilation", "groups", "channels", "kernel_size"),
        *("grad_layout", "data_layout", "kernel_layout", "out_layout", "out_dtype"),
    ),
    relation=_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=_compute,
    reference=_reference,
    waived={"gradient": "is one itself"},
)
