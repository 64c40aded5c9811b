"""What the networks have in common: their input, convolutions with square windows, and the function of a result."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.classic.testing.relay import layers
from compiler.ir.module import IRModule
from compiler.relay.analysis import free_vars
from compiler.relay.expr import Expr, Var, var
from compiler.relay.function import Function
from compiler.relay.ty import TensorType
from compiler.runtime.arrays.ndarray import NDArray

Workload = tuple[IRModule, dict[str, NDArray]]
"""A network as a module, and first values of its parameters."""


def network_input(batch_size: int, shape: Sequence[int], dtype: str) -> Var:
    """Return the input of a network."""
    return var("data", TensorType((batch_size, *shape), dtype))


def closed(result: Expr) -> Function:
    """Return the function of all variables of an expression."""
    return Function(tuple(free_vars(result)), result)


def convolution(body: Expr, channels: int, extent: int, name: str, padding: int = 0, stride: int = 1) -> Expr:
    """Return a convolution with a square window, of images of layout NCHW."""
    window, strides, around = (extent, extent), (stride, stride), (padding, padding)
    return layers.conv2d(body, channels=channels, kernel_size=window, strides=strides, padding=around, name=name)
