"""Checks that passes preserve results, by evaluating graphs before and after with NumPy."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from app.recorder.units.subjects import GraphSubject
from compiler.ir.module import IRModule
from compiler.relay.analysis import memory_traffic
from compiler.relay.expr import Var
from compiler.relay.interpreter import Interpreter
from compiler.relay.ty import TensorType
from compiler.runtime.arrays.ndarray import NDArray, numpy_dtype

RELATIVE, ABSOLUTE = 1e-3, 1e-4
"""Tolerances for rounding."""

BYTES_A_SECOND = 2e7
"""The minimum throughput of the interpreter, to predict evaluations, which cannot be interrupted."""

Arrays = list[npt.NDArray[Any]]


def check_passes(graph: GraphSubject, seconds: float) -> None:
    """Check that each pass that changed a graph preserves its results, within a time limit.

    Parameters
    ----------
    seconds : float
        The time limit for all passes together; graphs that would exceed it are not checked.
    """
    changed = [item for item in graph.passes if item.changed]
    traffic = memory_traffic(graph.first)
    if not changed or traffic.bytes_read + traffic.bytes_written > seconds * BYTES_A_SECOND:
        return
    started = time.perf_counter()
    before = _evaluate(graph.first)
    took = time.perf_counter() - started
    for position, item in enumerate(changed):
        spent = time.perf_counter() - started
        if before is None or spent + took * (len(changed) - position) > seconds + took:
            return
        after = _evaluate(item.module)
        if after is not None:
            item.equivalent, item.error = _compare(before, after)
        before = after


def _compare(before: Arrays, after: Arrays) -> tuple[bool, float | None]:
    """Compare two results; return whether they agree, and the largest difference if the shapes match."""
    if [a.shape for a in before] != [a.shape for a in after]:
        return False, None
    pairs = [(a.astype(np.float64), b.astype(np.float64)) for a, b in zip(before, after, strict=True)]
    agree = all(np.allclose(a, b, RELATIVE, ABSOLUTE, equal_nan=True) for a, b in pairs)
    with np.errstate(all="ignore"):
        differences = [np.abs(a - b) for a, b in pairs if a.size]
    return agree, max((float(np.nanmax(d)) for d in differences if not np.isnan(d).all()), default=0.0)


def _evaluate(module: IRModule) -> Arrays | None:
    """Evaluate a module's ``main`` on random inputs; None if that is not possible."""
    if "main" not in module:
        return None
    main = module["main"]
    random = np.random.default_rng(0)
    try:
        inputs = [_random(param, random) for param in main.params]
        if any(value is None for value in inputs):
            return None
        with np.errstate(all="ignore"):
            return _flat(Interpreter(module).evaluate(main, inputs))
    except Exception:
        # Random inputs may be invalid, e.g. as indices, a user's operators may do anything, and a tensor may not
        # fit into memory.
        return None


def _random(param: Var, random: np.random.Generator) -> npt.NDArray[Any] | None:
    kind = param.checked_type_ or param.type_annotation
    if not isinstance(kind, TensorType) or not kind.is_static:
        return None
    dtype = numpy_dtype(kind.dtype)
    if dtype.kind == "f":
        return random.random(kind.concrete_shape).astype(dtype)
    return random.integers(0, 2, kind.concrete_shape).astype(dtype)


def _flat(value: Any) -> Arrays | None:
    """Flatten a value into arrays; None if it contains anything else."""
    if isinstance(value, tuple | list):
        parts = [_flat(part) for part in value]
        return None if any(part is None for part in parts) else [a for part in parts if part for a in part]
    array = value.view() if isinstance(value, NDArray) else value
    return [np.asarray(array)] if isinstance(array, np.ndarray | np.generic) else None
