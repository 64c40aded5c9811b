"""Gradients of graphs compared with differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.classic.testing.relay.passes import run_infer_type
from compiler.classic.testing.relay.values import _np_randn_from_type
from compiler.classic.testing.targets import enabled_targets
from compiler.driver.relay.executor import create_executor
from compiler.ir.error import ArgumentError
from compiler.relay.function import Function
from compiler.relay.transform.derivatives.gradient import gradient
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.device import Device

__all__ = ["check_grad"]

Array = np.ndarray


def check_grad(
    func: Function,
    inputs: Sequence[Array] | None = None,
    test_inputs: Sequence[Array] | None = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    scale: float | None = None,
    mean: float = 0,
    mode: str = "higher_order",
    target_devices: Sequence[tuple[str, Device]] | None = None,
    executor_kind: str = "debug",
) -> None:
    """Compare the gradient of a function of a graph with central differences of points ``2 * eps`` apart.

    The function is best of float64: the differences of smaller types have few digits. Inputs are random by default,
    with the standard deviation ``scale``, or ``10 * eps``; the gradient is taken with respect to those that are
    ``test_inputs`` too, the very same objects. Raises AssertionError where the gradient is not what the differences
    are. Raises ArgumentError if ``func`` is not a function, or a test input is not one of the inputs.
    """
    typed = run_infer_type(func)
    if not isinstance(typed, Function):
        raise ArgumentError(f"check_grad: func must be a Function, got {type(func).__name__}")
    backward = gradient(typed, mode=mode)
    values = list(inputs) if inputs is not None else _random_inputs(typed, 10 * eps if scale is None else scale, mean)
    tested = values if test_inputs is None else test_inputs
    positions = [next((i for i, v in enumerate(values) if v is t), None) for t in tested]
    for target, device in target_devices or enabled_targets():
        run = create_executor(executor_kind, device=device, target=target)
        forward = run.evaluate(typed)
        _, gradients = run.evaluate(backward)(*values)
        for position in positions:
            if position is None:
                raise ArgumentError("check_grad: each of test_inputs must be one of inputs, the very same array")
            differences = _differences(forward, values, position, eps)
            np.testing.assert_allclose(np.asarray(gradients[position]), differences, atol=atol, rtol=rtol)


def _random_inputs(func: Function, scale: float, mean: float) -> list[Array]:
    return [_np_randn_from_type(param.checked_type, scale, mean) for param in func.params]


def _differences(forward: Callable[..., NDArray], inputs: Sequence[Array], position: int, eps: float) -> Array:
    """Return the central differences of the sum of a function's value, for each element of one input."""
    result = np.zeros_like(inputs[position])
    for index in np.ndindex(result.shape):
        ends = []
        for step in (eps, -eps):
            moved = inputs[position].copy()
            moved[index] += step
            value = np.asarray(forward(*inputs[:position], moved, *inputs[position + 1 :]))
            ends.append(value.sum(dtype="float64"))
        result[index] = (ends[0] - ends[1]) / (2 * eps)
    return result
