"""The usual schedules of a target for a kind of computation, and comparing a computation with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from compiler.classic.testing.gradients import Array
from compiler.classic.topi.nn.convolutions import conv2d_nchw
from compiler.classic.topi.x86 import schedule_conv2d_nchw
from compiler.driver.build import build
from compiler.runtime.arrays.ndarray import array, empty
from compiler.runtime.device import Device
from compiler.target.target import Target
from compiler.te.definition.operation import placeholder
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule
from compiler.topi.schedules.generic import schedule_injective, schedule_reduce
from compiler.topi.schedules.gpu import schedule_group

__all__ = [
    "compare_numpy_tvm", "dispatch", "get_broadcast_schedule", "get_conv2d_nchw_implement", "get_elemwise_schedule",
    "get_injective_schedule", "get_reduce_schedule",
]  # fmt: skip

Implementation = TypeVar("Implementation")
Rule = Callable[[Tensor | Sequence[Tensor]], Schedule]


def dispatch(target: str | Target, dispatch_map: Mapping[str, Implementation]) -> Implementation:
    """Return what a table has for one of a target's keys, e.g. ``cpu``, or for its kind, or else under ``generic``."""
    chosen = target if isinstance(target, Target) else Target(target)
    keys = [*chosen.keys, chosen.kind.name]
    return next((dispatch_map[key] for key in keys if key in dispatch_map), dispatch_map["generic"])


def _rule(target: str | Target, schedule: Callable[[Tensor | Sequence[Tensor], Target], Schedule]) -> Rule:
    chosen = target if isinstance(target, Target) else Target(target)
    if "gpu" in chosen.keys:
        return lambda outs: schedule_group([outs] if isinstance(outs, Tensor) else list(outs), chosen)
    return lambda outs: schedule(outs, chosen)


def get_injective_schedule(target: str | Target) -> Rule:
    """Return the schedule of computations in which an element depends on single elements."""
    return _rule(target, schedule_injective)


def get_elemwise_schedule(target: str | Target) -> Rule:
    """Return the schedule of computations in which an element depends on the same elements."""
    return get_injective_schedule(target)


def get_broadcast_schedule(target: str | Target) -> Rule:
    """Return the schedule of computations that broadcast."""
    return get_injective_schedule(target)


def get_reduce_schedule(target: str | Target) -> Rule:
    """Return the schedule of reductions."""
    return _rule(target, schedule_reduce)


def get_conv2d_nchw_implement(target: str | Target) -> tuple[Callable[..., Tensor], Callable[..., Schedule]]:
    """Return the definition and the schedule of a convolution of layout NCHW."""
    return conv2d_nchw, schedule_conv2d_nchw


def compare_numpy_tvm(
    inputs: Sequence[Array],
    output: Array,
    target: str | Target,
    device: Device,
    compute: Callable[..., Tensor],
    schedule: Callable[..., Schedule],
) -> None:
    """Build a computation, run it and compare its result, which raises an AssertionError if it is another one."""
    tensors = [placeholder(x.shape, name=f"input{i}", dtype=str(x.dtype)) for i, x in enumerate(inputs)]
    result = compute(*tensors)
    built = build(schedule([result]), [*tensors, result], target)
    target_array = empty(output.shape, result.dtype, device)
    built(*(array(x, device) for x in inputs), target_array)
    np.testing.assert_allclose(target_array.view(), output, rtol=1e-4, atol=1e-4)
