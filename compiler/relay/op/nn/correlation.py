"""Correlation of the windows of two images: ``nn.correlation``."""

from __future__ import annotations

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, INT, POSITIVE_INT, one_of
from compiler.ir.types import Type
from compiler.relay.op.common import check_same_extent, has_any_dim
from compiler.relay.op.type_relations import same_dtype, tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import Array, OpPattern, RelationError, Types
from compiler.relay.ty import AnyDim, TensorType
from compiler.topi.nn.correlation import CorrelationSpec
from compiler.topi.nn.correlation import correlation as topi_correlation
from compiler.topi.operands import constant

_FLOWNET = ('P. Fischer et al., "FlowNet: Learning Optical Flow with Convolutional Networks", ICCV 2015, section 3.',)


class CorrelationAttrs(Attrs):
    kernel_size: int = attr_field(POSITIVE_INT, "Extent of the windows, odd.", 1)
    max_displacement: int = attr_field(
        POSITIVE_INT, "How far apart the places of two windows are at most, along each dimension.", 1
    )
    stride1: int = attr_field(POSITIVE_INT, "Distance of windows of the first image.", 1)
    stride2: int = attr_field(POSITIVE_INT, "Distance of the displacements of windows of the second one.", 1)
    padding: int = attr_field(INT, "Zeros around both images.", 0)
    is_multiply: bool = attr_field(BOOL, "Whether products are added up, else absolute differences.", True)
    layout: str = attr_field(one_of("NCHW"), "Layout of the images.", "NCHW")

    @property
    def spec(self) -> CorrelationSpec:
        """What the definition as a tensor expression takes."""
        return CorrelationSpec(
            self.kernel_size, self.max_displacement, self.stride1, self.stride2, self.padding, self.is_multiply
        )


def _relation(types: Types, attrs: CorrelationAttrs) -> Type:
    """``(N, displacements, H, W)``."""
    a, b = tensor(types[0], "data1", 4), tensor(types[1], "data2", 4)
    dtype, spec = same_dtype(a, b), attrs.spec
    if attrs.kernel_size % 2 == 0:
        raise RelationError(f"kernel_size must be odd, got {attrs.kernel_size}")
    for d, (x, y) in enumerate(zip(a.dims, b.dims, strict=True)):
        check_same_extent(x, y, f"the images along axis {d}")
    out = [AnyDim() if has_any_dim(e) else spec.extent(e) for e in a.dims[2:]]
    if any(isinstance(e, int) and e < 1 for e in out):
        raise RelationError(f"the displaced windows must fit into the padded images {a}")
    return TensorType((a.dims[0], spec.displacements**2, *out), dtype)


def _reference(attrs: CorrelationAttrs, a: Array, b: Array) -> Array:
    spec, pad = attrs.spec, attrs.padding
    around = [(0, 0), (0, 0), (pad, pad), (pad, pad)]
    first, second = np.pad(a, around), np.pad(b, around)
    height, width = (constant(spec.extent(e), "correlation") for e in a.shape[2:])
    reach = attrs.max_displacement // attrs.stride2
    maps = []
    for down, right in np.ndindex(spec.displacements, spec.displacements):
        total = np.zeros((len(a), height, width), a.dtype)
        for i, j in np.ndindex(attrs.kernel_size, attrs.kernel_size):
            here = _window(first, (i, j), (height, width), attrs)
            moved = (i + (down - reach) * attrs.stride2, j + (right - reach) * attrs.stride2)
            there = _window(second, moved, (height, width), attrs)
            total += (here * there if attrs.is_multiply else np.abs(here - there)).sum(1)
        maps.append(total / np.asarray(a.shape[1] * attrs.kernel_size**2, a.dtype))
    return np.stack(maps, 1)


def _window(x: Array, shift: tuple[int, int], count: tuple[int, int], attrs: CorrelationAttrs) -> Array:
    rows, columns = (
        slice(attrs.max_displacement + s, attrs.max_displacement + s + (n - 1) * attrs.stride1 + 1, attrs.stride1)
        for s, n in zip(shift, count, strict=True)
    )
    return x[:, :, rows, columns]


correlation = register(
    "nn.correlation",
    doc="Compare windows of one image with windows around the same places of another.",
    inputs={"data1": "Images, ``(N, C, H, W)``.", "data2": "Images of the same shape."},
    attrs=CorrelationAttrs,
    relation=_relation,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    compute=lambda attrs, inputs, out_type: [topi_correlation(inputs[0], inputs[1], attrs.spec)],
    reference=_reference,
    references=_FLOWNET,
    waived={"gradient": "a sum over displaced windows, which no operator here makes of the gradient"},
)
