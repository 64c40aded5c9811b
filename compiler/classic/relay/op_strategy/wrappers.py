"""A table of wrappers that differ only in the attributes they pass on.

``wrap_compute_topk(f)`` calls ``f(data, k, axis, ret_type, is_ascend, dtype)``: the inputs of the operator, then its
attributes in this order, as TVM's wrappers do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler import topi
from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule

Definition = Callable[..., Any]
Compute = Callable[[Attrs, Sequence[Tensor], Type], list[Tensor]]

HANDED_ON = {
    "argsort": ("argsort", "axis is_ascend dtype"),
    "batch_norm": ("nn.batch_norm", "axis epsilon center scale"),
    "bitserial_conv2d": (
        "nn.bitserial_conv2d",
        "strides padding activation_bits weight_bits pack_dtype out_dtype unipolar",
    ),
    "bitserial_dense": ("nn.bitserial_dense", "data_bits weight_bits pack_dtype out_dtype unipolar"),
    "correlation": ("nn.correlation", "kernel_size max_displacement stride1 stride2 padding is_multiply"),
    "deformable_conv2d": ("nn.deformable_conv2d", "strides padding dilation deformable_groups groups out_dtype"),
    "dft": ("dft", "inverse"),
    "dilation2d": ("image.dilation2d", "strides padding dilations out_dtype"),
    "group_conv1d": ("nn.conv1d", "strides padding dilation groups out_dtype"),
    "invert_permutation": ("invert_permutation", ""),
    "layout_transform": ("layout_transform", "src_layout dst_layout"),
    "multibox_prior": ("vision.multibox_prior", "sizes ratios steps offsets clip"),
    "scatter_elements": ("scatter_elements", "axis reduction"),
    "scatter_nd": ("scatter_nd", "mode"),
    "searchsorted": ("searchsorted", "right dtype"),
    "sliding_window": ("sliding_window", "axis window_shape strides"),
    "sort": ("sort", "axis is_ascend"),
    "sparse_add": ("nn.sparse_add", ""),
    "sparse_conv2d": ("nn.sparse_conv2d", "layout kernel_size"),
    "sparse_dense": ("nn.sparse_dense", "sparse_lhs"),
    "sparse_fill_empty_rows": ("sparse_fill_empty_rows", ""),
    "sparse_reshape": ("sparse_reshape", ""),
    "threefry_generate": ("random.threefry_generate", "out_shape"),
    "threefry_split": ("random.threefry_split", ""),
    "topk": ("topk", "k axis ret_type is_ascend dtype"),
    "trilu": ("trilu", "upper"),
    "uniform": ("random.uniform", "out_shape out_dtype"),
    "unique": ("unique", "sorted return_counts"),
}
"""By the name after ``wrap_compute_``: the operator, and the attributes that follow its inputs."""

SCHEDULED = """adaptive_pool bitpack conv2d_gemm_weight_transform conv2d_winograd_weight_transform
    conv3d_winograd_weight_transform injective lrn pool pool_grad reduce roi_pool sparse_transpose"""
"""Groups whose schedule takes attributes, outputs and any target: ``schedule_pool(attrs, outs, target)``."""


def handing_on(names: str) -> Callable[[Definition], Compute]:
    """Return the wrapper of definitions that hands some attributes on, named in their order and separated by spaces."""

    def wrap(topi_compute: Definition) -> Compute:
        def compute(attrs: Attrs, inputs: Sequence[Tensor], out_type: Type) -> list[Tensor]:
            values = [attrs[n] or inputs[0].dtype if n == "out_dtype" else attrs[n] for n in names.split()]
            made = topi_compute(*inputs, *values)
            return [made] if isinstance(made, Tensor) else list(made)

        return compute

    return wrap


def scheduling(name: str) -> Callable[[Attrs, Sequence[Tensor], Target], Schedule]:
    """Return the schedule of a kind of group, e.g. ``pool``, as an implementation's."""

    def schedule(attrs: Attrs, outs: Sequence[Tensor], target: Target) -> Schedule:
        with target:
            return topi.generic.schedule_injective(outs)

    schedule.__name__ = schedule.__qualname__ = f"schedule_{name}"
    return schedule


def wrapper_of_name(name: str) -> Callable[..., Any] | None:
    """Return what the tables say of a name, e.g. ``wrap_compute_topk`` or ``schedule_pool``; None for others."""
    row = HANDED_ON.get(name.removeprefix("wrap_compute_")) if name.startswith("wrap_compute_") else None
    if row is not None:
        return handing_on(row[1])
    kind = name.removeprefix("schedule_")
    return scheduling(kind) if kind != name and kind in SCHEDULED.split() else None
