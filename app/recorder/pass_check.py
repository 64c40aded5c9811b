"""Checks that passes preserve results, by evaluating graphs before and after with NumPy."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from app.recorder.subjects import GraphSubject
from compiler.ir.module import IRModule
from compiler.relay.analysis import memory_traffic
from compiler.relay.expr import Var
from compiler.relay.interpreter import Interpreter
from compiler.relay.ty import TensorType
from compiler.runtime.ndarray import NDArray, numpy_dtype

RELATIVE, ABSOLUTE = 1e-3, 1e-4
"""Differences up to here are rounding."""

BYTES_A_SECOND = 2e7
"""What the interpreter moves at least; an evaluation that was begun cannot be broken off."""

Arrays = list[npt.NDArray[Any]]


def check_passes(graph: GraphSubject, seconds: float) -> None:
    """Note of each pass that changed a graph whether it computes the same, as far as there is time.

    Parameters
    ----------
    graph : GraphSubject
    seconds : float
        A graph whose evaluation would take longer than that, all passes together, is left unchecked.
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
    """Return whether two results agree, and the largest difference where their shapes do."""
    if [a.shape for a in before] != [a.shape for a in after]:
        return False, None
    pairs = [(a.astype(np.float64), b.astype(np.float64)) for a, b in zip(before, after, strict=True)]
    agree = all(np.allclose(a, b, RELATIVE, ABSOLUTE, equal_nan=True) for a, b in pairs)
    with np.errstate(all="ignore"):
        differences = [np.abs(a - b) for a, b in pairs if a.size]
    return agree, max((float(np.nanmax(d)) for d in differences if not np.isnan(d).all()), default=0.0)


def _evaluate(module: IRModule) -> Arrays | None:
    """Return the values of a module's ``main``; None if it cannot be evaluated on random numbers."""
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
        # Random numbers may make no sense to a program, e.g. as indices, a user's operators may do anything, and a
        # shape may be larger than any memory.
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
    """Return a value's arrays, those of tuples in their order; None if it is made of anything else."""
    if isinstance(value, tuple | list):
        parts = [_flat(part) for part in value]
        return None if any(part is None for part in parts) else [a for part in parts if part for a in part]
    array = value.view() if isinstance(value, NDArray) else value
    return [np.asarray(array)] if isinstance(array, np.ndarray | np.generic) else None
