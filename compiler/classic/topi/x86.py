"""``tvm.topi.x86``: schedules for CPUs with vectors.

Each takes the outputs of a group and finds the computation that it is made around in the graph of tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from compiler.ir.extension import public_module
from compiler.target.target import Target, TargetLike
from compiler.te import Schedule, Tensor
from compiler.topi import generic, nn
from compiler.topi.definitions import named
from compiler.topi.schedules.generic import schedule_injective, schedule_reduce
from compiler.topi.schedules.x86.conv import schedule_conv
from compiler.topi.schedules.x86.matmul import schedule_matmul

__all__ = [
    "dense_pack", "schedule_batch_matmul", "schedule_conv2d_NCHWc", "schedule_conv2d_nchw", "schedule_conv2d_nhwc",
    "schedule_dense", "schedule_injective", "schedule_reduce", "spconv2d_3x3_nhwc",
]  # fmt: skip

Strategy: TypeAlias = Callable[[object, Sequence[Tensor], Target], Schedule]


def _schedule(name: str, strategy: Strategy, anchor: str) -> Callable[..., Schedule]:
    def schedule(outs: Tensor | Sequence[Tensor], target: TargetLike | None = None) -> Schedule:
        """Return the schedule of a group with the outputs ``outs`` around {anchor}.

        ``target`` is the current one when left out, else this machine. Raises ArgumentError if there is no such
        computation in the group.
        """
        outputs = [outs] if isinstance(outs, Tensor) else list(outs)
        return strategy(None, outputs, Target.target_or_current(target))

    return named(schedule, name, anchor=anchor)


schedule_conv2d_nchw = _schedule("schedule_conv2d_nchw", schedule_conv, "a convolution with its columns last")
schedule_conv2d_nhwc = _schedule("schedule_conv2d_nhwc", schedule_conv, "a convolution with its channels last")
schedule_conv2d_NCHWc = _schedule("schedule_conv2d_NCHWc", schedule_conv, "a convolution with its channels in blocks")
schedule_dense = _schedule("schedule_dense", schedule_matmul, "a dense layer")
schedule_batch_matmul = _schedule("schedule_batch_matmul", schedule_matmul, "products of matrices, batch by batch")

_VARIANTS = {
    (schedule_conv, "a convolution"): "conv2d_NCHWc_int8 depthwise_conv2d_NCHWc group_conv2d_nchw",
    (schedule_matmul, "a dense layer"): "dense_cblas dense_dnnl dense_dynamic dense_mkl dense_nopack dense_pack",
    (
        schedule_matmul,
        "a product of matrices",
    ): "batch_matmul_cblas batch_matmul_mkl matmul_cblas matmul_dnnl matmul_mkl",
}
"""What TVM schedules apart, or has a library compute: here one schedule serves all of a kind."""

_SCHEDULES = {
    f"schedule_{name}": _schedule(f"schedule_{name}", strategy, anchor)
    for (strategy, anchor), names in _VARIANTS.items()
    for name in names.split()
}

_DEFINITIONS = """batch_matmul binarize_pack binary_dense bitserial_conv2d_nchw bitserial_conv2d_nhwc bitserial_dense
    conv2d_NCHWc conv2d_NCHWc_int8 conv2d_nchw conv2d_transpose_nchw conv3d_ncdhw conv3d_ndhwc conv3d_transpose_ncdhw
    depthwise_conv2d_NCHWc depthwise_conv2d_nchw group_conv2d_nchw"""
"""What TVM defines once more for these CPUs: here they are those of ``tvm.topi.nn``."""

_LIBRARY_NAMES = {
    "dense": "dense_cblas dense_dnnl dense_dynamic dense_mkl dense_nopack",
    "matmul": "matmul_cblas matmul_dnnl matmul_mkl",
    "batch_matmul": "batch_matmul_cblas batch_matmul_mkl",
}
"""Definitions that TVM has under a name for each library or schedule."""


def dense_pack(data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None) -> Tensor:
    """Return ``data`` times the transpose of a weight, which may stand in panels as of ``topi.nn.dense_pack``."""
    product: Tensor = (nn.dense if weight.ndim == 2 else nn.dense_pack)(data, weight, bias, out_dtype)
    return product


def spconv2d_3x3_nhwc(data: Tensor, wdat: Tensor, wind: Tensor, wptr: Tensor, layout: str = "NHWC") -> Tensor:
    """Return ``topi.nn.sparse_conv2d`` with a window of three rows and columns."""
    convolved: Tensor = nn.sparse_conv2d(data, wdat, wind, wptr, layout, 3)
    return convolved


_SHARED = {name: getattr(nn, name) for name in _DEFINITIONS.split()}
_SHARED |= {name: getattr(nn, kind) for kind, names in _LIBRARY_NAMES.items() for name in names.split()}
_SHARED |= _SCHEDULES
_SHARED |= {f"schedule_{name}": schedule_injective for name in ("concatenate", "concatenate_cpu", "spconv2d_3x3_nhwc")}
_SHARED |= {name: getattr(generic, name) for name in generic.__all__ if name not in __all__}
globals().update(_SHARED)
__all__ += _SHARED

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.topi.x86", __all__)
