"""``tvm.topi.cuda`` and ``tvm.topi.gpu``: schedules for GPUs.

Each takes the outputs of a group and finds the computation that it is made around in the graph of tensors.  They serve
every kind of GPU: the current target's limits decide about sizes, those of ``cuda`` where it is none's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from compiler.ir.error import ArgumentError
from compiler.ir.extension import public_module
from compiler.target.target import Target
from compiler.te import Schedule, Stage, Tensor
from compiler.te.definition.tensor import Operation
from compiler.topi import fourier, nn, scan, vision
from compiler.topi.arrays import scatter, sorting, sparse_coordinates
from compiler.topi.generic import named_schedules
from compiler.topi.schedules import gpu
from compiler.topi.schedules.gpu.kit import bind_elements

__all__ = ["argsort", "schedule_injective_from_existing"]

_COMPUTATIONS = """adaptive_pool argsort argwhere batch_matmul broadcast conv1d_ncw conv1d_nwc conv1d_transpose_ncw
    conv2d_hwcn conv2d_nchw conv2d_transpose_nchw conv3d_ncdhw conv3d_ndhwc conv3d_transpose_ncdhw correlation_nchw
    deformable_conv2d_nchw dense_large_batch dense_small_batch depthwise_conv2d_backward_input_nhwc
    depthwise_conv2d_backward_weight_nhwc depthwise_conv2d_nchw depthwise_conv2d_nhwc elemwise extern
    get_valid_counts group_conv1d_ncw group_conv1d_nwc group_conv2d_nchw injective lrn multibox_detection
    multibox_prior multibox_transform_loc nms pool pool_grad proposal reduce reorg roi_align roi_pool scan softmax sort
    sparse_dense topk transpose"""


def _target() -> Target:
    current = Target.current()
    return current if current is not None and "gpu" in current.keys else Target("cuda")


def _scheduled(outs: Tensor | Sequence[Tensor]) -> Schedule:
    return gpu.schedule_group([outs] if isinstance(outs, Tensor) else list(outs), _target())


def argsort(
    data: Tensor, axis: int = -1, is_ascend: bool = True, dtype: str = "float32", ret_type: str = "indices"
) -> Tensor:
    """Return the indices of the elements in their order along an axis; equal elements stay in order.

    ``ret_type`` is ``indices`` or ``both``; the indices alone are returned in either case, as in TVM.
    """
    return sorting.argsort(data, None, axis, is_ascend, dtype)


def schedule_injective_from_existing(sch: Schedule, out: Tensor | Operation) -> Schedule:
    """Bind the elements of one stage of a schedule to threads.

    Raises ArgumentError if the stage's loops have been divided already.
    """
    stage: Stage = sch[out]
    if stage.relations:
        raise ArgumentError(
            f"schedule_injective_from_existing: the loops of stage {stage.op.name!r} have already been split"
        )
    bind_elements(stage, _target())
    return sch


_SCHEDULES = named_schedules(_COMPUTATIONS, _scheduled, "for a GPU")

_DEFINITIONS = {
    fourier: "dft stft",
    scan: "cumprod cumsum",
    scatter: "scatter_elements scatter_nd",
    sorting: "searchsorted sort topk",
    sparse_coordinates: "argwhere sparse_reshape",
    nn: "batch_matmul conv1d_ncw conv1d_nwc conv1d_transpose_ncw conv2d_nchw conv2d_transpose_nchw conv3d_ncdhw "
    "conv3d_ndhwc conv3d_transpose_ncdhw correlation_nchw deformable_conv2d_nchw depthwise_conv2d_nchw "
    "group_conv1d_ncw group_conv1d_nwc group_conv2d_nchw sparse_dense",
    vision: "get_valid_counts non_max_suppression",
}
"""What TVM defines once more for GPUs: here they are those of ``tvm.topi``."""

_SHARED = {name: getattr(module, name) for module, names in _DEFINITIONS.items() for name in names.split()}
_SHARED["dense_small_batch"] = _SHARED["dense_large_batch"] = nn.dense
globals().update(_SCHEDULES, **_SHARED)
__all__ += [*_SCHEDULES, *_SHARED]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.topi.cuda", __all__)
