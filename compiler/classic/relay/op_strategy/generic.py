"""Wrappers that make ``topi`` definitions into strategy implementations.

``wrap_compute_conv2d(f)`` calls ``f(data, weight, strides, padding, dilation, out_dtype)``, as TVM's wrappers do.  A
strategy by name, such as ``conv2d_strategy``, is the generic function of an operator's row, to which programs add
variants for targets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.classic.relay.op_strategy.channels import (
    get_conv2d_in_channels,
    get_conv2d_out_channels,
    is_depthwise_conv2d,
)
from compiler.classic.relay.op_strategy.selection import own_strategy, strategy_name
from compiler.classic.relay.op_strategy.wrappers import Compute, Definition, wrapper_of_name
from compiler.classic.target.generic_func import GenericFunc
from compiler.ir.attrs import Attrs
from compiler.ir.error import unknown_name
from compiler.ir.extension import extension_point
from compiler.ir.types import Type
from compiler.relay.operator import relay_ops
from compiler.relay.ty import TensorType
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule, create_schedule

__all__ = [
    "get_conv2d_in_channels", "get_conv2d_out_channels", "is_depthwise_conv2d", "naive_schedule", "strategy_of_name",
    "wrap_compute_batch_matmul", "wrap_compute_conv1d", "wrap_compute_conv1d_transpose", "wrap_compute_conv2d",
    "wrap_compute_conv2d_transpose", "wrap_compute_conv3d", "wrap_compute_conv3d_transpose", "wrap_compute_dense",
    "wrap_compute_matmul", "wrap_compute_scanop", "wrap_compute_softmax", "wrap_topi_compute", "wrap_topi_schedule",
]  # fmt: skip


def _tensors(made: Any) -> list[Tensor]:
    return [made] if isinstance(made, Tensor) else list(made)


def wrap_topi_compute(topi_compute: Definition) -> Compute:
    """Return a definition that takes the inputs alone as an implementation's."""
    return lambda attrs, inputs, out_type: _tensors(topi_compute(*inputs))


def wrap_topi_schedule(topi_schedule: Callable[..., Schedule]) -> Callable[[Attrs, Sequence[Tensor], Target], Schedule]:
    """Return a schedule that takes outputs alone as an implementation's, which runs under its target."""

    def schedule(attrs: Attrs, outs: Sequence[Tensor], target: Target) -> Schedule:
        with target:
            return topi_schedule(outs)

    return schedule


def naive_schedule(attrs: Attrs, outs: Sequence[Tensor], target: Target) -> Schedule:
    """Return the schedule without any primitives."""
    return create_schedule([out.op for out in outs])


def _result_dtype(attrs: Attrs, inputs: Sequence[Tensor]) -> str:
    return str(attrs.get("out_dtype") or inputs[0].dtype)


def _result_type(out_type: Type) -> TensorType:
    assert isinstance(out_type, TensorType), "the result is one tensor"
    return out_type


def _convolution(
    topi_compute: Definition,
    need_data_layout: bool = False,
    need_out_layout: bool = False,
    has_groups: bool = False,
    need_kernel_layout: bool = False,
) -> Compute:
    def compute(attrs: Attrs, inputs: Sequence[Tensor], out_type: Type) -> list[Tensor]:
        args: list[Any] = [*inputs, attrs["strides"], attrs["padding"], attrs["dilation"]]
        args += [attrs["groups"]] if has_groups else []
        args += [attrs["data_layout"]] if need_data_layout else []
        args += [attrs["kernel_layout"]] if need_kernel_layout else []
        args += [attrs["out_layout"]] if need_out_layout else []
        return _tensors(topi_compute(*args, _result_dtype(attrs, inputs)))

    return compute


def wrap_compute_conv1d(topi_compute: Definition) -> Compute:
    """Return ``topi_compute(data, weight, strides, padding, dilation, out_dtype)`` as a definition."""
    return _convolution(topi_compute)


def wrap_compute_conv2d(
    topi_compute: Definition,
    need_data_layout: bool = False,
    need_kernel_layout: bool = False,
    need_out_layout: bool = False,
    has_groups: bool = False,
) -> Compute:
    """Return ``topi_compute(data, weight, strides, padding, dilation, …, out_dtype)`` as an implementation's
    definition.

    The flags say whether it takes the number of groups, then the layouts, before the data type.
    """
    return _convolution(topi_compute, need_data_layout, need_out_layout, has_groups, need_kernel_layout)


def wrap_compute_conv3d(topi_compute: Definition, need_layout: bool = False) -> Compute:
    """Return ``topi_compute(data, weight, strides, padding, dilation, groups, [layout,] out_dtype)`` as a definition.

    ``need_layout`` says whether it takes the layout of the data.
    """
    return _convolution(topi_compute, need_data_layout=need_layout, has_groups=True)


def _transposed(topi_compute: Definition, has_groups: bool = False) -> Compute:
    def compute(attrs: Attrs, inputs: Sequence[Tensor], out_type: Type) -> list[Tensor]:
        args: list[Any] = [*inputs, attrs["strides"], attrs["padding"], _result_dtype(attrs, inputs)]
        args += [attrs["output_padding"]]
        args += [attrs["groups"]] if has_groups else []
        return _tensors(topi_compute(*args))

    return compute


def wrap_compute_conv1d_transpose(topi_compute: Definition, has_groups: bool = False) -> Compute:
    """Return ``topi_compute(data, weight, strides, padding, out_dtype, output_padding[, groups])`` as a definition."""
    return _transposed(topi_compute, has_groups)


def wrap_compute_conv2d_transpose(
    topi_compute: Definition, has_groups: bool = False, add_layout: bool = False
) -> Compute:
    """Return ``topi_compute(data, weight, strides, padding, out_dtype, output_padding[, groups][, layout])`` as a
    definition.
    """
    if not add_layout:
        return _transposed(topi_compute, has_groups)

    def compute(attrs: Attrs, inputs: Sequence[Tensor], out_type: Type) -> list[Tensor]:
        with_layout = _transposed(lambda *args: topi_compute(*args, attrs["data_layout"]), has_groups)
        return with_layout(attrs, inputs, out_type)

    return compute


def wrap_compute_conv3d_transpose(topi_compute: Definition, has_groups: bool = False) -> Compute:
    """Return ``topi_compute(data, weight, strides, padding, out_dtype, output_padding[, groups])`` as a definition."""
    return _transposed(topi_compute, has_groups)


def wrap_compute_dense(topi_compute: Definition) -> Compute:
    """Return a dense layer, ``topi_compute(data, weight, bias, out_dtype)`` with a bias of None, as a definition."""
    return lambda attrs, inputs, out_type: _tensors(topi_compute(*inputs[:2], None, _result_dtype(attrs, inputs)))


def wrap_compute_matmul(topi_compute: Definition) -> Compute:
    """Return ``topi_compute(a, b, bias, out_dtype, transpose_a, transpose_b)``, without a bias, as a definition."""

    def compute(attrs: Attrs, inputs: Sequence[Tensor], out_type: Type) -> list[Tensor]:
        turned = (attrs["transpose_a"], attrs["transpose_b"])
        return _tensors(topi_compute(*inputs[:2], None, _result_dtype(attrs, inputs), *turned))

    return compute


def wrap_compute_batch_matmul(topi_compute: Definition) -> Compute:
    """Return ``topi_compute(x, y, out_shape, out_dtype, transpose_a, transpose_b)`` as a definition."""

    def compute(attrs: Attrs, inputs: Sequence[Tensor], out_type: Type) -> list[Tensor]:
        turned = (attrs["transpose_a"], attrs["transpose_b"])
        shape = _result_type(out_type).shape
        return _tensors(topi_compute(*inputs, shape, _result_dtype(attrs, inputs), *turned))

    return compute


def wrap_compute_softmax(topi_compute: Definition) -> Compute:
    """Return ``topi_compute(x, axis)`` as an implementation's definition."""
    return lambda attrs, inputs, out_type: _tensors(topi_compute(inputs[0], attrs["axis"]))


def wrap_compute_scanop(topi_compute: Definition) -> Compute:
    """Return a running sum or product, ``topi_compute(data, axis, dtype, exclusive)``, as a definition."""

    def compute(attrs: Attrs, inputs: Sequence[Tensor], out_type: Type) -> list[Tensor]:
        rest = (attrs["axis"], attrs["dtype"] or None, attrs["exclusive"])
        return _tensors(topi_compute(inputs[0], *rest))

    return compute


def strategy_of_name(name: str) -> GenericFunc:
    """Return the strategy of an operator's row by its name, e.g. ``conv2d_strategy``.

    Raises UnknownNameError if no operator has a definition under the name.
    """
    defined = {strategy_name(op_name): op for op_name, op in _defined()}
    if name not in defined:
        raise unknown_name("tvm.relay.op.strategy", name, defined)
    strategy = own_strategy(defined[name])
    assert strategy is not None, "operators with a definition have a strategy"
    return strategy


def _defined() -> list[tuple[str, Any]]:
    """Return the operators that have a definition; of several that share their last name the shortest comes last."""
    ops = [(name, op) for name, op in relay_ops().items() if op.compute is not None]
    return sorted(ops, key=lambda item: item[0].count("."), reverse=True)


def of_name(name: str) -> object:
    """Return a wrapper, a schedule or a strategy by its name, e.g. ``wrap_compute_topk`` or ``schedule_pool``.

    Raises UnknownNameError if there is none.
    """
    if (load := extension_point("tvm.relay.op.strategy").find(name)) is not None:
        return load()
    return wrapper_of_name(name) or strategy_of_name(name)


def __getattr__(name: str) -> object:
    return of_name(name)
