"""``tvm.topi.nn.conv2d.Workload``: the parameters of a convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compiler.ir.error import expected
from compiler.te.definition.tensor import Tensor
from compiler.topi.nn.padding import Padding, get_pad_tuple
from compiler.topi.utils import get_const_int

__all__ = ["Workload", "get_workload"]


class Workload(NamedTuple):
    """The extents, data types, padding (top, left, bottom, right), dilation and strides of a convolution.

    ``in_filter`` and ``out_filter`` are the channels of the data and of the result.
    """

    in_dtype: str
    out_dtype: str
    height: int
    width: int
    in_filter: int
    groups: int
    out_filter: int
    kernel_h: int
    kernel_w: int
    padt: int
    padl: int
    padb: int
    padr: int
    dilation_h: int
    dilation_w: int
    stride_h: int
    stride_w: int


def _pair(value: int | Sequence[int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[1]))


def get_workload(
    data: Tensor, kernel: Tensor, stride: int | Sequence[int], padding: Padding, dilation: int | Sequence[int],
    out_dtype: str, data_layout: str = "NCHW",
) -> Workload:  # fmt: skip
    """Return the numbers of a convolution by a weight OIHW, or HWIO for data whose channels are last."""
    if data_layout not in ("NCHW", "NHWC", "HWCN"):
        expected("_get_workload", "data_layout", "'NCHW', 'NHWC' or 'HWCN'", data_layout)
    extents = {axis: get_const_int(n) for axis, n in zip(data_layout, data.shape, strict=True)}
    order = "OIHW" if data_layout == "NCHW" else "HWIO"
    weights = {axis: get_const_int(n) for axis, n in zip(order, kernel.shape, strict=True)}
    top, left, bottom, right = get_pad_tuple(padding, (weights["H"], weights["W"]))
    return Workload(
        data.dtype, out_dtype, extents["H"], extents["W"], extents["C"], extents["C"] // weights["I"], weights["O"],
        weights["H"], weights["W"], top, left, bottom, right, *_pair(dilation), *_pair(stride),
    )  # fmt: skip
