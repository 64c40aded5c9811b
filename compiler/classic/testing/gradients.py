"""Gradients compared with differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

__all__ = ["check_numerical_grads"]

Array = np.ndarray
Values = Mapping[str, Array] | Sequence[Array]
Function = Callable[..., float | np.floating]


def check_numerical_grads(
    function: Function,
    input_values: Values,
    grad_values: Values,
    function_value: float | None = None,
    delta: float = 1e-3,
    atol: float = 1e-2,
    rtol: float = 0.1,
) -> None:
    """Compare the gradients of a function with central differences of points ``2 * delta`` apart.

    The function goes from the inputs, by position or by name as ``input_values`` has them, to a number, its
    ``function_value``, which is not needed. By position there may be fewer gradients than inputs. A gradient may be
    ``atol`` away from the differences, as the root mean square over its elements, and in addition ``rtol`` of its
    Euclidean length.

    Raises
    ------
    AssertionError
        Naming the input, the distance and the tolerance.
    """
    if isinstance(input_values, Mapping) and isinstance(grad_values, Mapping):
        values = {name: np.asarray(value) for name, value in input_values.items()}
        _check(function, values, grad_values, delta, atol, rtol)
    elif isinstance(input_values, Mapping) or isinstance(grad_values, Mapping):
        raise AssertionError("check_numerical_grads: inputs and gradients must both be by position or both by name")
    else:
        names = [str(i) for i in range(len(input_values))]
        values = {name: np.asarray(value) for name, value in zip(names, input_values, strict=True)}
        by_name = dict(zip(names, grad_values, strict=False))
        _check(lambda **named: function(*(named[name] for name in names)), values, by_name, delta, atol, rtol)


def _check(
    function: Function,
    values: Mapping[str, Array],
    grad_values: Mapping[str, Array],
    delta: float,
    atol: float,
    rtol: float,
) -> None:
    for name, given in grad_values.items():
        grad = np.asarray(given)
        if grad.shape != values[name].shape:
            raise AssertionError(f"the gradient of {name} has shape {grad.shape}, the input {values[name].shape}")
        differences = _central_differences(function, values, name, delta)
        far = np.abs(differences - grad) > atol + rtol * np.abs(differences)
        if far.any():  # where the function bends much, its values closer by say more
            differences[far] = _central_differences(function, values, name, delta / 10, far)[far]
        distance = float(np.linalg.norm((differences - grad).ravel()))
        tolerance = atol * np.sqrt(grad.size) + rtol * float(np.linalg.norm(differences.ravel()))
        if not distance <= tolerance:
            raise AssertionError(
                f"the gradient with respect to {name} is {distance:.4g} away from the differences, more than "
                f"{tolerance:.4g}\nanalytical:\n{grad}\nby differences:\n{differences}"
            )


def _central_differences(
    function: Function, values: Mapping[str, Array], name: str, delta: float, where: Array | None = None
) -> Array:
    """Return ``(f(x + delta) - f(x - delta)) / (2 delta)`` for each element of one input, or for some."""
    around = values[name]
    differences = np.zeros(around.shape, "float64")
    for index in np.ndindex(around.shape):
        if where is not None and not where[index]:
            continue
        ends = []
        for step in (delta, -delta):
            moved = around.copy()
            moved[index] += step
            ends.append(float(function(**{**values, name: moved})))
        differences[index] = (ends[0] - ends[1]) / (2 * delta)
    return differences
