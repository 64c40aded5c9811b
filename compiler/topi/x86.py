"""Schedules for CPUs with vectors, under TVM's names: ``tvm.topi.x86``.

Each takes the outputs of a group and finds the computation that it is made around in the graph of tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from compiler.ir.extension import public_module
from compiler.target.target import Target, TargetLike
from compiler.te import Schedule, Tensor
from compiler.topi import generic, nn
from compiler.topi.schedules.generic import schedule_injective, schedule_reduce
from compiler.topi.schedules.x86.conv import schedule_conv
from compiler.topi.schedules.x86.matmul import schedule_matmul

__all__ = [
    "schedule_batch_matmul",
    "schedule_conv2d_NCHWc",
    "schedule_conv2d_nchw",
    "schedule_conv2d_nhwc",
    "schedule_dense",
    "schedule_dense_nopack",
    "schedule_dense_pack",
    "schedule_injective",
    "schedule_reduce",
]

Strategy: TypeAlias = Callable[[object, Sequence[Tensor], Target], Schedule]

_DOC = """Return the schedule of a group around {anchor}.

    Parameters
    ----------
    outs : Tensor or sequence of Tensor
        The outputs of the group.
    target : Target, str or dict, optional
        The current target, else this machine, when left out.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        If there is no such computation in the group.
    """


def _schedule(name: str, strategy: Strategy, anchor: str) -> Callable[..., Schedule]:
    def schedule(outs: Tensor | Sequence[Tensor], target: TargetLike | None = None) -> Schedule:
        outputs = [outs] if isinstance(outs, Tensor) else list(outs)
        return strategy(None, outputs, Target.target_or_current(target))

    schedule.__name__ = schedule.__qualname__ = name
    schedule.__doc__ = _DOC.format(anchor=anchor)
    return schedule


schedule_conv2d_nchw = _schedule("schedule_conv2d_nchw", schedule_conv, "a convolution with its columns last")
schedule_conv2d_nhwc = _schedule("schedule_conv2d_nhwc", schedule_conv, "a convolution with its channels last")
schedule_conv2d_NCHWc = _schedule("schedule_conv2d_NCHWc", schedule_conv, "a convolution with its channels in blocks")
schedule_dense = _schedule("schedule_dense", schedule_matmul, "a dense layer")
schedule_batch_matmul = _schedule("schedule_batch_matmul", schedule_matmul, "products of matrices, batch by batch")

schedule_dense_pack = _schedule("schedule_dense_pack", schedule_matmul, "a dense layer")
schedule_dense_nopack = _schedule("schedule_dense_nopack", schedule_matmul, "a dense layer")

_DEFINITIONS = """batch_matmul binarize_pack binary_dense bitserial_conv2d_nchw bitserial_conv2d_nhwc bitserial_dense
    conv2d_NCHWc conv2d_nchw conv2d_transpose_nchw conv3d_ncdhw conv3d_ndhwc conv3d_transpose_ncdhw dense_pack
    depthwise_conv2d_NCHWc depthwise_conv2d_nchw group_conv2d_nchw"""
"""What TVM defines once more for these CPUs: here they are those of ``tvm.topi.nn``."""

_SHARED = {name: getattr(nn, name) for name in _DEFINITIONS.split()}
_SHARED |= {name: getattr(generic, name) for name in generic.__all__ if name not in __all__}
globals().update(_SHARED)
__all__ += _SHARED

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.topi.x86", __all__)
