"""Products of matrices, by the gallery's schedules, beside cuBLAS through PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from app.gallery import load_gallery
from tests.outside.device import gpu
from tests.outside.device.cases import Case, Record
from tests.outside.device.gallery import arguments, data, loaded

SCHEDULES = {
    "float32, gpu-matmul-vectorised": ("gpu-matmul-vectorised", "n = 512", "n = {n}"),
    "float32, gpu-matmul-ladder": ("gpu-matmul-ladder", "n, tile, each, step = 512", "n, tile, each, step = {n}"),
    "float16 to float32, gpu-tensor-cores": (
        "gpu-tensor-cores", "n, tile, half, step, m = 256", "n, tile, half, step, m = {n}",
    ),
    "float16 to float32, gpu-tensor-cores, steps of 64": (
        "gpu-tensor-cores", "n, tile, half, step, m = 256, 64, 32, 32", "n, tile, half, step, m = {n}, 64, 32, 64",
    ),
}  # fmt: skip
"""Example, what stands in it, and what is put in its place."""


def cases() -> Iterator[Case]:
    """Yield each schedule and size."""
    for n in (1024, 4096):
        for name in SCHEDULES:
            yield f"{name}, n = {n}", partial(_case, name, n if not gpu.EMULATED else 128)


def scaled(name: str, old: str, new: str) -> str:
    """Return an example's script of another size."""
    example = load_gallery().find(name)
    assert example is not None
    assert old in example.script, old
    return example.script.replace(old, new)


def _case(name: str, n: int) -> Record:
    example, old, new = SCHEDULES[name]
    script = scaled(example, old, new.format(n=n))
    names = loaded(script)
    tensors = arguments(script, names)
    arrays = data(tensors)
    built = gpu.function(names["s"], tensors)
    error = gpu.same(gpu.called(built, arrays)[-1], arrays[0].astype("float32") @ arrays[1].astype("float32"), 1e-3)
    taken = gpu.seconds(built, arrays)
    library = vendor(str(arrays[0].dtype), n)
    rate = [2 * n**3 / each / 1e12 if each else 0.0 for each in (taken, library)]
    share = rate[0] / rate[1] if rate[1] else 0.0
    return {"error": error, "TFLOP/s": rate[0], "cuBLAS TFLOP/s": rate[1], "of cuBLAS": share}


@cache
def vendor(dtype: str, n: int) -> float:
    """Return the seconds of a product by cuBLAS; 0 without PyTorch or device."""
    try:
        import torch
    except ImportError:
        return 0.0
    if not torch.cuda.is_available():
        return 0.0
    torch.backends.cuda.matmul.allow_tf32 = False
    a, b = (torch.randn(n, n, device="cuda", dtype=getattr(torch, dtype)) for _ in range(2))
    return timed(torch, lambda: torch.matmul(a, b))


def timed(torch: Any, call: Callable[[], object], number: int = 10) -> float:
    """Return the seconds of a call by the device's events: the median of five measurements, after three calls."""
    for _ in range(3):
        call()
    spent = []
    for _ in range(5):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(number):
            call()
        end.record()
        end.synchronize()
        spent.append(begin.elapsed_time(end) / 1e3 / number)
    return float(np.median(spent))
