"""The gallery's examples for GPUs, as they are, against NumPy."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from app.gallery import load_gallery
from compiler.classic import alias
from tests.outside.device import gpu
from tests.outside.device.cases import Case, Record, Wrong

Array = np.ndarray[Any, Any]


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(1, keepdims=True))
    result: Array = e / e.sum(1, keepdims=True)
    return result


def _windows(x: Array, w: Array) -> Array:
    size = x.shape[0] - 2
    result: Array = sum(w[:, i, j, None, None] * x[i : i + size, j : j + size] for i in range(3) for j in range(3))
    return result


def _product(a: Array, b: Array) -> Array:
    result: Array = a.astype("float64") @ b.astype("float64")
    return result


REFERENCES: Mapping[str, Callable[..., Array]] = {
    "gpu-threads": lambda a, b: a * b,
    "gpu-reduction": lambda a: a.sum(1, dtype="float64"),
    "gpu-softmax": _softmax,
    "gpu-conv2d": _windows,
    "gpu-transpose": lambda a: a.T,
}


def loaded(script: str) -> dict[str, Any]:
    """Return the names of a script after it ran."""
    alias.install()
    names: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "example.py")  # TVMScript reads its own source
        path.write_text(script)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(script, str(path), "exec"), names)
    return names


def arguments(script: str, names: Mapping[str, Any]) -> list[Any]:
    """Return the tensors that an example builds or lowers its function for."""
    [told] = re.findall(r"tvm\.(?:build|lower)\(s, (\[[^\]]*\])", script)
    tensors: list[Any] = eval(told, dict(names))
    return tensors


def data(tensors: list[Any], seed: int = 0) -> list[Array]:
    """Return random inputs, and an output that is filled with what no result is."""
    rng = np.random.default_rng(seed)
    shapes = [tuple(int(extent) for extent in tensor.shape) for tensor in tensors]
    inputs = [rng.standard_normal(shape).astype(t.dtype) for shape, t in zip(shapes[:-1], tensors, strict=False)]
    return [*inputs, np.full(shapes[-1], 123, tensors[-1].dtype)]


def examples() -> Iterator[Any]:
    """Yield the examples that launch threads."""
    for example in load_gallery():
        if "blockIdx" in example.script:
            yield example


def cases() -> Iterator[Case]:
    """Yield each example."""
    for example in examples():
        yield example.name, partial(_race if example.name == "gpu-race" else _checked, example)


def _checked(example: Any) -> Record:
    names = loaded(example.script)
    tensors = arguments(example.script, names)
    arrays = data(tensors)
    expected = REFERENCES.get(example.name, _product)(*arrays[:-1])
    built = gpu.function(names["s"], tensors)
    error = gpu.same(gpu.called(built, arrays)[-1], expected, 1e-3 if arrays[0].dtype == "float16" else 1e-5)
    return {"error": error, "microseconds": gpu.seconds(built, arrays) * 1e6}


def _race(example: Any) -> Record:
    """Each element is its own plus its neighbour's before or after that one was written: the kernel has a race."""
    function = loaded(example.script)["add_neighbour"]
    a = np.arange(256, dtype="float32")
    [result] = gpu.called(gpu.function(function), [a])
    if gpu.EMULATED:
        return {}
    sums = a.copy()
    late = 0
    for i in range(254, -1, -1):
        early, after = a[i] + a[i + 1], a[i] + result[i + 1]
        if result[i] not in (early, after):
            raise Wrong(f"element {i} is {result[i]}, neither {early} nor {after}")
        late += result[i] != early
        sums[i] = early
    return {"elements that met a neighbour already written": int(late)}
