"""``tvm.topi.generic``: schedules for any target.

TVM has one for each kind of computation, as targets may replace them; here one serves any group, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from compiler.ir.extension import public_module
from compiler.te import Schedule, Tensor
from compiler.topi.definitions import named
from compiler.topi.schedules.generic import schedule_injective, schedule_injective_from_existing, schedule_reduce

Rule = Callable[..., Schedule]

_COMPUTATIONS = """adaptive_pool argsort argwhere batch_matmul batch_norm binarize_pack binary_dense bitpack
    bitserial_conv2d_nchw bitserial_conv2d_nhwc bitserial_dense broadcast conv1d_ncw conv1d_nwc conv1d_transpose_ncw
    conv2d_NCHWc conv2d_NCHWc_int8 conv2d_gemm_weight_transform conv2d_hwcn conv2d_nchw conv2d_nhwc conv2d_nhwc_pack
    conv2d_transpose_nchw conv2d_winograd_weight_transform conv2d_winograd_without_weight_transform conv3d_ncdhw
    conv3d_ndhwc conv3d_transpose_ncdhw conv3d_winograd_weight_transform correlation_nchw deformable_conv2d_nchw
    deformable_conv2d_nhwc dense depthwise_conv2d_NCHWc depthwise_conv2d_nchw depthwise_conv2d_nhwc dilation2d_nchw
    dilation2d_nhwc einsum elemwise extern fast_softmax get_valid_counts group_conv1d_ncw group_conv1d_nwc
    group_conv1d_transpose_ncw group_conv2d_nchw group_conv2d_nhwc group_conv2d_transpose_nchw
    group_conv3d_transpose_ncdhw lrn lstm matmul multibox_detection multibox_prior multibox_transform_loc nms pool
    pool_grad proposal reorg roi_align roi_pool softmax sort sparse_conv2d sparse_dense sparse_fill_empty_rows
    sparse_transpose topk unique"""
_WITH_LAYOUT = ("adaptive_pool", "pool")
"""Computations whose schedules take the layout of the data too."""


def named_schedules(names: str, rule: Rule, kind: str) -> dict[str, Rule]:
    """Return one schedule of groups under ``schedule_`` and each of several names, documented as of a ``kind``."""
    return {f"schedule_{name}": _schedule(name, rule, kind) for name in names.split()}


def _schedule(name: str, rule: Rule, kind: str) -> Rule:
    def schedule(outs: Tensor | Sequence[Tensor]) -> Schedule:
        """Return the schedule of a group with the outputs ``outs`` around {name}, {kind}."""
        return rule(outs)

    def schedule_in_layout(outs: Tensor | Sequence[Tensor], layout: str = "NCHW") -> Schedule:
        """Return the schedule of a group with the outputs ``outs`` around {name}, {kind}, in all layouts the same."""
        return rule(outs)

    made: Rule = schedule_in_layout if name in _WITH_LAYOUT else schedule
    return named(made, f"schedule_{name}", name=name, kind=kind)


_SCHEDULES = named_schedules(_COMPUTATIONS, schedule_injective, "that of any group")
globals().update(_SCHEDULES)

__all__ = ["schedule_injective", "schedule_injective_from_existing", "schedule_reduce", *_SCHEDULES]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.topi.generic", __all__)
