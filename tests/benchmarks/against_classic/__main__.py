"""The machine code of a corpus of schedules, from this compiler and from classic TVM, called in turn.

    STRATA_CLASSIC_TVM=/path/to/python python -m tests.benchmarks.against_classic [--mcpu NAME] [WORD …]

The path is that of an interpreter that has ``tvm``; without it, only this compiler's times are printed, and that it is
so.  Words choose the programs whose names have one of them.  Both machine codes run in this process on the same arrays,
one after the other, on one thread; times are of the thread's processor time, the least and the median of the rounds.
The outputs are compared.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import compiler as tvm
from compiler.runtime.modules.native_code import host_cpu
from tests.benchmarks.against_classic.corpus import PROGRAMS

CLASSIC = os.environ.get("STRATA_CLASSIC_TVM", "")
SHORTEST = 2e-3
"""Seconds that one measurement takes at least."""

Call = Callable[[], object]


class _Tensor(ctypes.Structure):
    """DLPack's ``DLTensor``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


def aligned(array: np.ndarray) -> np.ndarray:
    """Return a copy that begins at a multiple of 64 bytes, as classic TVM's machine code demands."""
    room = np.empty(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def arrays_of(args: list[Any]) -> list[np.ndarray]:
    """Return random inputs, and an output."""
    rng = np.random.default_rng(0)
    shapes = [tuple(int(d) for d in t.shape) for t in args]
    return [aligned(rng.standard_normal(shape).astype(t.dtype)) for shape, t in zip(shapes, args, strict=True)]


def call_here(schedule: Any, args: list[Any], target: str, arrays: list[np.ndarray], folder: Path, name: str) -> Call:
    """Return a call of this compiler's machine code, linked as a library."""
    assembly = folder / f"{name.replace(' ', '_')}.here.s"
    assembly.write_text(tvm.build(schedule, args, target, name="run").get_source("asm"))
    library = assembly.with_suffix(".so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, assembly, "-lm"], check=True)
    function = ctypes.CDLL(str(library)).run
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
    return lambda: function(*pointers)


_LIBC = ctypes.CDLL(None)
_LIBC.aligned_alloc.restype = ctypes.c_void_p
_LIBC.aligned_alloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
_LIBC.free.argtypes = (ctypes.c_void_p,)
_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_int, ctypes.c_int)(
    lambda kind, number, size, code, bits: _LIBC.aligned_alloc(64, (size + 63) // 64 * 64)
)
_FREE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(
    lambda kind, number, pointer: _LIBC.free(pointer) and 0
)


_LAUNCH = """
struct env { void *sync; int tasks; };
int launch(int (*task)(int, struct env *, void *), void *data, int count) {
    struct env alone = {0, 1};
    return task(0, &alone, data);
}
"""


@cache
def _launch() -> ctypes.CDLL:
    """Return what runs a parallel loop as one task, as on one thread."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "launch.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-xc", "-o", path, "-"], input=_LAUNCH, text=True, check=True)
        return ctypes.CDLL(str(path))


def call_classic(library: str, arrays: list[np.ndarray]) -> Call:
    """Return a call of classic TVM's machine code, by its packed calling convention."""
    loaded = ctypes.CDLL(library)
    functions = (("AllocWorkspace", _ALLOCATE), ("FreeWorkspace", _FREE), ("ParallelLaunch", _launch().launch))
    for name, function in functions:
        try:
            place = ctypes.c_void_p.in_dll(loaded, f"__TVMBackend{name}")
        except ValueError:
            continue
        place.value = ctypes.cast(function, ctypes.c_void_p).value
    shapes = [(ctypes.c_int64 * a.ndim)(*a.shape) for a in arrays]
    tensors = [
        _Tensor(a.ctypes.data, 1, 0, a.ndim, 2, a.itemsize * 8, 1, shape, None, 0)
        for a, shape in zip(arrays, shapes, strict=True)
    ]
    values = (ctypes.c_void_p * len(arrays))(*(ctypes.addressof(t) for t in tensors))
    kinds = (ctypes.c_int * len(arrays))(*(7 for _ in arrays))
    result, result_kind = ctypes.c_int64(), ctypes.c_int()
    rest = (len(arrays), ctypes.byref(result), ctypes.byref(result_kind), None)

    def call(keep: object = (tensors, shapes)) -> object:
        return loaded.run(values, kinds, *rest)

    return call


def measure(calls: list[Call], rounds: int) -> list[list[float]]:
    """Return the seconds of each call in each round."""
    counts = []
    for call in calls:
        count = 1
        while (spent := _spent(call, count)) < SHORTEST:
            count = max(count * 2, int(count * SHORTEST / max(spent, 1e-9)))
        counts.append(count)
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(rounds):
        order = range(len(calls)) if turn % 2 else reversed(range(len(calls)))
        for i in order:
            times[i].append(_spent(calls[i], counts[i]) / counts[i])
    return times


def _spent(call: Call, count: int) -> float:
    begin = time.thread_time()
    for _ in range(count):
        call()
    return time.thread_time() - begin


def build_classic(names: list[str], folder: Path, target: str) -> dict[str, dict[str, str]]:
    """Return the library, or the error, of each program."""
    runner = Path(__file__).with_name("build_classic.py")
    command = [CLASSIC, str(runner), str(folder), target, *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if len(answers) != len(names):
        raise SystemExit(f"the interpreter of classic TVM ended early: {done.stderr[-400:]}")
    return dict(zip(names, answers, strict=True))


def main() -> None:
    """Print a table, those first in which this compiler's code is slowest by comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--mcpu", default="native")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    names = [n for n in PROGRAMS if not options.words or any(word in n for word in options.words)]
    target = f"llvm -mcpu={host_cpu() if options.mcpu == 'native' else options.mcpu}"
    print(f"{len(names)} programs, {target}" + ("" if CLASSIC else "; STRATA_CLASSIC_TVM names no classic TVM"))
    ratios = []
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        built = build_classic(names, folder, target) if CLASSIC else {}
        for name in names:
            schedule, args = PROGRAMS[name](tvm)
            arrays = arrays_of(args)
            calls = [call_here(schedule, args, target, arrays, folder, name)]
            calls[0]()
            mine = arrays[-1].copy()
            note = ""
            if "library" in built.get(name, {}):
                calls.append(call_classic(built[name]["library"], arrays))
                arrays[-1][...] = 0
                calls[1]()
                tolerance = 2e-2 if mine.dtype == np.float16 else 1e-4
                if not np.allclose(mine, arrays[-1], rtol=tolerance, atol=tolerance):
                    note = " OTHER VALUES"
            elif name in built:
                note = " classic TVM: " + built[name]["error"][:60]
            times = measure(calls, options.rounds)
            per = [f"{min(t) * 1e6:10.2f}" for t in times]
            if len(times) == 2:
                least = min(times[0]) / min(times[1])
                middle = statistics.median(a / b for a, b in zip(*times, strict=True))
                ratios.append(least)
                per.append(f"{least:6.2f} {middle:6.2f}")
            print(f"{name:42} {' '.join(per)}{note}", flush=True)
    if ratios:
        mean = math.exp(statistics.mean(map(math.log, ratios)))
        print(f"geometric mean {mean:.3f}, more than 1.05: {sum(r > 1.05 for r in ratios)} of {len(ratios)}")


if __name__ == "__main__":
    main()
