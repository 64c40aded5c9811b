"""Checks that passes preserve results, by evaluating graphs before and after with NumPy."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any
from zlib import adler32

import numpy as np
import numpy.typing as npt

from app.recorder.units.subjects import GraphSubject
from compiler.ir.module import IRModule
from compiler.ir.types import Type
from compiler.relay.analysis import memory_traffic
from compiler.relay.expr import Call, Var
from compiler.relay.interpreter import Interpreter
from compiler.relay.operator import RelayOp
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
    evaluator = _Evaluator()
    before = evaluator.evaluate(graph.first)
    took = time.perf_counter() - started
    for position, item in enumerate(changed):
        spent = time.perf_counter() - started
        if before is None or spent + took * (len(changed) - position) > seconds + took:
            return
        after = evaluator.evaluate(item.module)
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


class _Evaluator:
    """Evaluates modules on the same random inputs, and calls of operators that the module before has, too, only once.

    Most passes leave most of a graph as it was.
    """

    def __init__(self) -> None:
        self._inputs: dict[tuple[object, ...], list[npt.NDArray[Any] | None]] = {}
        self._last = _Results()

    def evaluate(self, module: IRModule) -> Arrays | None:
        """Evaluate a module's ``main`` on random inputs; None if that is not possible."""
        if "main" not in module:
            return None
        main = module["main"]
        try:
            inputs = self._inputs_of(main.params)
            if any(value is None for value in inputs):
                return None
            interpreter = _Interpreter(module, self._last)
            with np.errstate(all="ignore"):
                values = _flat(interpreter.evaluate(main, inputs))
        except Exception:
            # Random inputs may be invalid, e.g. as indices, a user's operators may do anything, and a tensor may not
            # fit into memory.
            return None
        self._last = interpreter.results
        return values

    def _inputs_of(self, params: Sequence[Var]) -> list[npt.NDArray[Any] | None]:
        kinds = tuple([param.checked_type_ or param.type_annotation for param in params])
        if kinds not in self._inputs:
            random = np.random.default_rng(0)
            self._inputs[kinds] = [_random(kind, random) for kind in kinds]
        return self._inputs[kinds]


class _Results:
    """What an evaluation has computed: arrays by content, and values by operator, attributes and operands."""

    def __init__(self) -> None:
        self.arrays: dict[tuple[object, ...], npt.NDArray[Any]] = {}
        self.calls: dict[tuple[object, ...], tuple[object, object]] = {}


class _Interpreter(Interpreter):
    """Takes values from an evaluation before, whose arrays stand for equal ones of its own."""

    def __init__(self, module: IRModule, before: _Results) -> None:
        super().__init__(module)
        self.results = _Results()
        self._before = before
        self._known: dict[int, tuple[object, npt.NDArray[Any]]] = {}

    def operator(self, op: RelayOp, call: Call, args: tuple[object, ...]) -> object:
        operands = self._shared(args)
        identities = _identities(operands)
        if identities is None:
            return super().operator(op, call, args)
        key, calls = (op, call.attrs, identities), self.results.calls
        if key not in calls:
            calls[key] = self._before.calls.get(key) or (operands, super().operator(op, call, args))
        return calls[key][1]

    def _shared(self, value: object) -> object:
        """Return a value with the arrays that stand for its own."""
        if isinstance(value, tuple):
            return tuple([self._shared(part) for part in value])
        if not isinstance(value, np.ndarray):
            return value
        if id(value) not in self._known:
            key = (value.shape, value.dtype, adler32(content := value.tobytes()))
            first = self.results.arrays.get(key, self._before.arrays.get(key, value))
            same = first if first is value or first.tobytes() == content else value
            self.results.arrays[key] = same
            self._known[id(value)] = value, same
        return self._known[id(value)][1]


def _identities(value: object) -> object:
    """Return the identity of an array, or those of a tuple's arrays; None where something else is among them."""
    if not isinstance(value, tuple):
        return id(value) if isinstance(value, np.ndarray) else None
    found = tuple([_identities(part) for part in value])
    return None if None in found else found


def _random(kind: Type | None, random: np.random.Generator) -> npt.NDArray[Any] | None:
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
