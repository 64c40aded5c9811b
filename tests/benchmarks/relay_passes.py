"""How long passes over graphs take as graphs grow: ``python -m tests.benchmarks.relay_passes [N …]``.

Graphs are layers of convolutions, normalisations and elementwise operators in three branches that are added and go on
side by side.  For each pass: the processor time for N operators, and the exponent ``log(t2 / t1) / log(n2 / n1)`` of
the last two, which is about 1 where the time is linear.
"""

from __future__ import annotations

import gc
import sys
import time
from math import log
from typing import Any

import numpy as np

import compiler.relay
from compiler.ir import IRModule
from compiler.ir.transform import PassContext
from compiler.relay import transform
from compiler.relay.analysis import list_op_freqs
from compiler.target.target import Target

relay: Any = compiler.relay

PREPARED: dict[str, list[Any]] = {
    "InferType": [],
    "SimplifyInference": [],
    "FoldConstant": [transform.SimplifyInference()],
    "EliminateCommonSubexpr": [transform.SimplifyInference()],
    "BackwardFoldScaleAxis": [transform.SimplifyInference(), transform.FoldConstant()],
    "ForwardFoldScaleAxis": [transform.SimplifyInference(), transform.FoldConstant()],
    "SimplifyExpr": [transform.SimplifyInference()],
    "CanonicalizeOps": [],
    "CanonicalizeCast": [],
    "CombineParallelConv2D": [],
    "CombineParallelDense": [],
    "CombineParallelBatchMatmul": [],
    "AlterOpLayout": [transform.SimplifyInference(), transform.FoldConstant(), transform.CanonicalizeOps()],
    "FastMath": [],
    "FuseOps": [transform.SimplifyInference(), transform.FoldConstant()],
    "DefuseOps": [transform.SimplifyInference(), transform.FuseOps()],
    "ToANormalForm": [],
    "ToGraphNormalForm": [transform.ToANormalForm()],
    "DeadCodeElimination": [transform.ToANormalForm()],
}
"""The passes that are measured, each with what goes before it in a build."""


def layered(count: int, seed: int = 0) -> IRModule:
    """Return a module of about ``count`` operators."""
    rng = np.random.default_rng(seed)
    x = relay.var("x", shape=(1, 4, 4, 4))

    def vector() -> Any:
        return relay.const(rng.random(4).astype("float32") + 0.5)

    def layer(value: Any) -> Any:
        size = int(rng.choice([1, 3]))
        weight = relay.const(rng.normal(size=(4, 4, size, size)).astype("float32"))
        value = relay.nn.conv2d(value, weight, padding=size // 2)
        if rng.random() < 0.5:
            value = relay.nn.batch_norm(value, vector(), vector(), vector(), vector())[0]
        else:
            value = relay.nn.bias_add(value, vector())
        return [relay.nn.relu, relay.tanh, relay.sigmoid][int(rng.integers(3))](value)

    branches = [x, x, x]
    for _ in range(max(1, count // 12)):
        branches = [layer(b) for b in branches]
        total = relay.add(relay.add(branches[0], branches[1]), branches[2])
        branches = [total, branches[int(rng.integers(3))], total]
    body = relay.add(branches[0], branches[1])
    return transform.InferType()(IRModule.from_expr(relay.Function([x], body)))


def measure(name: str, mod: IRModule) -> float:
    """Return the seconds of processor time that a pass takes, the best of three."""
    arguments = (Target("llvm -mcpu=haswell"),) if name == "AlterOpLayout" else ()
    times = []
    with PassContext(opt_level=4):
        for each in PREPARED[name]:
            mod = each(mod)
        mod = transform.InferType()(mod)
        one = getattr(transform, name)(*arguments)
        for _ in range(3):
            gc.collect()
            fresh = mod.shallow_copy()  # inference remembers modules that it has seen
            start = time.process_time()
            one.apply(fresh, PassContext.current())
            times.append(time.process_time() - start)
    return min(times)


def main(sizes: list[int]) -> None:
    """Print the table."""
    modules = [layered(n) for n in sizes]
    counts = [sum(list_op_freqs(m).values()) for m in modules]
    print(f"{'pass':<28}" + "".join(f"{f'n={c:,}':>14}" for c in counts) + f"{'exponent':>12}")
    for name in PREPARED:
        times = [measure(name, m) for m in modules]
        cells = "".join(f"{t * 1e3:>11.1f} ms" for t in times)
        exponent = log(times[-1] / times[-2]) / log(counts[-1] / counts[-2]) if len(times) > 1 else float("nan")
        print(f"{name:<28}{cells}{exponent:>12.2f}")


if __name__ == "__main__":
    main([int(a) for a in sys.argv[1:]] or [100, 1_000, 10_000])
