"""Random programs that sort and scan for a device, with what NumPy makes of the same arrays."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from compiler import te, topi
from compiler.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.topi.schedules.gpu import schedule_group

Array = np.ndarray[Any, Any]
DTYPES = ("float32", "int32", "float64", "int8", "uint8", "float16", "int64")


class RowProgram(NamedTuple):
    """A schedule, its arguments, the arrays of its inputs, and the reference of its outputs."""

    schedule: te.Schedule
    args: list[Tensor]
    inputs: list[Array]
    expected: list[Array]

    def arrays(self) -> list[Array]:
        """Return the inputs, and outputs that are filled with what no result is."""
        return [*(a.copy() for a in self.inputs), *(np.full(a.shape, 77, a.dtype) for a in self.expected)]


def ordered(x: Array, axis: int, is_ascend: bool) -> Array:
    """Return NumPy's stable order; of equal elements the first comes first in either direction."""
    if is_ascend:
        return np.argsort(x, axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)


def _data(rng: random.Random, dtypes: tuple[str, ...], lengths: tuple[int, int]) -> tuple[Array, int]:
    shape = [rng.choice((1, 2, 5)) for _ in range(rng.randint(0, 2))]
    axis = rng.randint(0, len(shape))
    shape.insert(axis, rng.randint(*lengths))
    dtype = rng.choice(dtypes)
    values = np.random.default_rng(rng.getrandbits(32))
    data = values.integers(0 if dtype.startswith("u") else -4, 5, shape).astype(dtype)
    if dtype.startswith("float") and rng.random() < 0.5:
        data[values.random(shape) < 0.2] = rng.choice((np.nan, np.inf, -np.inf))
    return data, axis - rng.choice((0, len(shape)))


def program(target: str, seed: int, lengths: tuple[int, int] = (1, 30), dtypes: tuple[str, ...] = DTYPES) -> RowProgram:
    """Return the program of a seed."""
    rng = random.Random(seed)
    data, axis = _data(rng, dtypes, lengths)
    return rng.choice((_sort, _argsort, _counted, _topk, _scan, _scan))(target, rng, data, axis)


def _made(target: str, inputs: list[Array], define: Callable[..., Any], expected: list[Array]) -> RowProgram:
    tensors = [te.placeholder(a.shape, str(a.dtype), name=f"x{i}") for i, a in enumerate(inputs)]
    with Target(target) as device:
        results = define(*tensors)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        return RowProgram(schedule_group(results, device), [*tensors, *results], inputs, expected)


def _sort(target: str, rng: random.Random, data: Array, axis: int) -> RowProgram:
    ascending = rng.random() < 0.5
    expected = np.take_along_axis(data, ordered(data, axis, ascending), axis)
    return _made(target, [data], lambda x: topi.sort(x, axis, ascending), [expected])


def _argsort(target: str, rng: random.Random, data: Array, axis: int) -> RowProgram:
    ascending, dtype = rng.random() < 0.5, rng.choice(("int32", "float32"))
    expected = ordered(data, axis, ascending).astype(dtype)
    return _made(target, [data], lambda x: topi.argsort(x, None, axis, ascending, dtype), [expected])


def _counted(target: str, rng: random.Random, data: Array, axis: int) -> RowProgram:
    """An order of the first elements of each row only."""
    at, length = axis % data.ndim, data.shape[axis]
    others = data.shape[:at] + data.shape[at + 1 :]
    count = np.random.default_rng(rng.getrandbits(32)).integers(0, length + 1, others).astype("int32")
    rows, expected = np.moveaxis(data, at, -1), np.zeros((*others, length), "int32")
    for index in np.ndindex(*others):
        expected[index] = np.arange(length)
        expected[index][: count[index]] = ordered(rows[index][: count[index]], 0, False)
    result = np.moveaxis(expected, -1, at)
    return _made(target, [data, count], lambda x, n: topi.argsort(x, n, axis, False, "int32"), [result])


def _topk(target: str, rng: random.Random, data: Array, axis: int) -> RowProgram:
    k, ascending = rng.randint(1, data.shape[axis]), rng.random() < 0.5
    places = np.take(ordered(data, axis, ascending), np.arange(k), axis)
    values = np.take_along_axis(data, places, axis)
    return _made(target, [data], lambda x: topi.topk(x, k, axis, "both", ascending), [values, places.astype("int32")])


def _scan(target: str, rng: random.Random, data: Array, axis: int) -> RowProgram:
    """A running sum, product or maximum; of numbers that every order of combining gives the same results for."""
    data = np.nan_to_num(data, nan=1, posinf=2, neginf=-2)
    name, exclusive = rng.choice(("cumsum", "cumprod", "maximum")), rng.random() < 0.5
    if name == "cumprod":
        data = np.where(data > 0, 1, data.dtype.type(-1) if data.dtype.kind != "u" else 1).astype(data.dtype)
    nothing = {"cumsum": 0, "cumprod": 1, "maximum": -4 if data.dtype.kind != "u" else 0}[name]
    run = {"cumsum": np.add, "cumprod": np.multiply, "maximum": np.maximum}[name]
    expected = run.accumulate(data, axis=axis, dtype=data.dtype)
    if exclusive:
        first = np.full_like(np.take(expected, [0], axis), nothing)
        expected = np.concatenate([first, np.delete(expected, -1, axis)], axis)
    if name == "maximum":
        return _made(
            target, [data], lambda x: topi.scanop(x, te.max, nothing, "scan", axis, None, exclusive), [expected]
        )
    define = getattr(topi, name)
    return _made(target, [data], lambda x: define(x, axis, exclusive=exclusive), [expected])
