"""Functions on the device, or emulated where only the steps themselves are to be tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import compiler as tvm
from compiler.classic.relay.emulate import emulate_graph
from compiler.driver.build import build
from compiler.driver.emulate import emulate
from compiler.runtime.cuda.driver import find_driver
from compiler.runtime.cuda.execution import CudaExecution, CudaFunction
from tests.outside.device.cases import Wrong

EMULATED = False
Array = np.ndarray[Any, Any]


def function(schedule: Any, args: Any = None, target: str = "cuda") -> Any:
    """Return a function whose kernels run on the device."""
    if EMULATED:
        return emulate(schedule, args, target)
    built = build(schedule, args, target)
    assert isinstance(built.get_function(built.entry_name), CudaFunction), "nothing runs on the device"
    return built


def graph(mod: Any, params: Any) -> Any:
    """Return a graph whose kernels run on the device."""
    return emulate_graph(mod, "cuda", params) if EMULATED else tvm.relay.build(mod, "cuda", params=params)


def called(built: Any, arrays: Sequence[Array]) -> list[Array]:
    """Return what is in the arguments after a call."""
    given = [tvm.nd.array(array) for array in arrays]
    built(*given)
    return [array.numpy() for array in given]


def seconds(built: Any, arrays: Sequence[Array], number: int = 10, repeat: int = 5) -> float:
    """Return how long a call takes by the device's clock: the median of some measurements; 0 where it is emulated."""
    if EMULATED:
        return 0.0
    given = tuple(tvm.nd.array(array) for array in arrays)
    return float(np.median(built.get_function(built.entry_name).device_seconds(given, number, repeat)))


def same(result: Array, expected: Array, tolerance: float = 1e-5) -> float:
    """Return the largest difference from a reference, relative to its largest value, if it is within the tolerance."""
    if result.shape != expected.shape:
        raise Wrong(f"shape {result.shape}, expected {expected.shape}")
    result, expected = result.astype("float64"), expected.astype("float64")
    error = float(np.abs(result - expected).max(initial=0) / max(np.abs(expected).max(initial=0), 1e-30))
    if not error <= tolerance:
        apart = int((~np.isclose(result, expected, tolerance, tolerance)).sum())
        raise Wrong(f"{apart} of {expected.size} elements differ, by {error:.2g} of the largest value")
    return error


@contextmanager
def kernel_seconds() -> Iterator[Callable[[], float]]:
    """Add up how long the device computes, by its events, without copies."""
    total = 0.0
    launch = CudaExecution._launch

    def timed(self: CudaExecution, pointers: Sequence[Any]) -> None:
        nonlocal total
        total += find_driver().seconds(lambda: launch(self, pointers))

    CudaExecution._launch = timed  # type: ignore[method-assign]
    try:
        yield lambda: total
    finally:
        CudaExecution._launch = launch  # type: ignore[method-assign]
