"""A search on the device: AutoTVM's tuner on a product of matrices, measured by the device's events."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import compiler as tvm
from compiler import relay, te
from compiler.classic import autotvm
from compiler.runtime.graph.graph_module import GraphModule
from tests.outside.device import gpu
from tests.outside.device.cases import Case, Record
from tests.outside.device.products import vendor

SIZE, TRIALS = 1024, 24


def cases() -> Iterator[Case]:
    """Yield the default schedule, and searches."""
    yield "dense by the default schedule", _default
    for name in ("RandomTuner", "XGBTuner"):
        yield f"AutoTVM, {name}", partial(_tuned, name)


@autotvm.template("device/product")  # type: ignore[untyped-decorator]
def product(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """Return a product with tiles in shared memory and in registers."""
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    cfg = autotvm.get_config()
    cfg.define_knob("tile", [32, 64, 128])
    cfg.define_knob("each", [2, 4, 8])
    cfg.define_knob("step", [4, 8, 16, 32])
    cfg.define_knob("lanes", [1, 2, 4])
    cfg.define_knob("unroll", [0, 1])
    tile, each, step, lanes = (cfg[name].val for name in ("tile", "each", "step", "lanes"))
    threads = tile // each
    CL = s.cache_write(C, "local")
    AS, BS = s.cache_read(A, "shared", [CL]), s.cache_read(B, "shared", [CL])
    ty, tx = te.thread_axis((0, threads), "threadIdx.y"), te.thread_axis((0, threads), "threadIdx.x")
    (by, i), (bx, j) = (s[C].split(axis, factor=tile) for axis in C.op.axis)
    (i, yi), (j, xi) = s[C].split(i, factor=each), s[C].split(j, factor=each)
    s[C].reorder(by, bx, i, j, yi, xi)
    for axis, thread in ((by, te.thread_axis("blockIdx.y")), (bx, te.thread_axis("blockIdx.x")), (i, ty), (j, tx)):
        s[C].bind(axis, thread)
    s[CL].compute_at(s[C], j)
    ko, ki = s[CL].split(s[CL].op.reduce_axis[0], factor=step)
    s[CL].reorder(ko, ki, *s[CL].op.axis)
    for axis in (*[ki] * cfg["unroll"].val, *s[CL].op.axis):
        s[CL].unroll(axis)
    for shared in (AS, BS):
        s[shared].compute_at(s[CL], ko)
        fused, vector = s[shared].split(s[shared].fuse(*s[shared].op.axis), factor=lanes)
        fused, x = s[shared].split(fused, factor=threads)
        _, y = s[shared].split(fused, factor=threads)
        s[shared].bind(y, ty)
        s[shared].bind(x, tx)
        if lanes > 1:
            s[shared].vectorize(vector)
    return s, [A, B, C]


def _size() -> int:
    return 128 if gpu.EMULATED else SIZE


def _rate(seconds: float) -> float:
    return 2 * _size() ** 3 / seconds / 1e12 if seconds else 0.0


def _default() -> Record:
    n = _size()
    x, w = relay.var("x", shape=(n, n)), relay.var("w", shape=(n, n))
    built = gpu.graph(tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w))), None)
    executor = GraphModule(built["default"](tvm.cpu(0)))
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, n)).astype("float32") for _ in range(2))
    executor.set_input(x=a, w=b)
    with gpu.kernel_seconds() as total:
        executor.run()
        first = total()
        executor.run()
        taken = total() - first
    error = gpu.same(executor.get_output(0).numpy(), a @ b.T)
    return {"error": error, "TFLOP/s": _rate(taken), "cuBLAS TFLOP/s": _rate(vendor("float32", n))}


def _tuned(name: str) -> Record:
    n = _size()
    task = autotvm.task.create("device/product", args=(n,), target="cuda")
    option = autotvm.measure_option(
        builder=autotvm.LocalBuilder(), runner=autotvm.LocalRunner(number=5, repeat=3, min_repeat_ms=0)
    )
    best: list[float] = []
    errors: dict[int, int] = {}

    def note(tuner: Any, inputs: Any, results: Any) -> None:
        for result in results:
            errors[result.error_no] = errors.get(result.error_no, 0) + 1
            seconds = float(np.mean(result.costs)) if result.error_no == 0 else float("inf")
            best.append(min([seconds, *best[-1:]]))

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.json")
        tuner = getattr(autotvm.tuner, name)(task)
        trials = TRIALS if not gpu.EMULATED else 2
        tuner.tune(trials, measure_option=option, callbacks=[note, autotvm.callback.log_to_file(str(log))])
        with autotvm.apply_history_best(str(log)), tvm.target.Target("cuda"):
            schedule, args = product(n)
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((n, n)).astype("float32") for _ in range(2)] + [np.zeros((n, n), "float32")]
    built = gpu.function(schedule, args)
    error = gpu.same(gpu.called(built, arrays)[2], arrays[0] @ arrays[1])
    return {
        "error": error,
        "trials by error": {str(number): count for number, count in errors.items()},
        "TFLOP/s of the first": _rate(next((each for each in best if np.isfinite(each)), 0.0)),
        "TFLOP/s of the best": _rate(gpu.seconds(built, arrays)),
        "cuBLAS TFLOP/s": _rate(vendor("float32", n)),
    }
