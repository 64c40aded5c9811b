"""Branches that are computed as one have the types and values that they had, whatever follows them.

``STRATA_EXAMPLES=2000 python -m pytest tests/properties/test_parallel_branches.py --timeout 0`` looks at that many
random graphs for each operator.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from compiler.ir.transform import PassContext
from compiler.relay.analysis import list_op_freqs
from tests.compiler.relay.transform.reading import module_of, relay, transform
from tests.properties.graphs import evaluate, flat, shape_of
from tests.properties.layout_programs import small_inputs

SEEDS = int(os.environ.get("STRATA_EXAMPLES") or 20)

Follower = Callable[[Any], Any]


class _Names:
    """New variables, each of a name of its own."""

    def __init__(self) -> None:
        self.count = 0

    def tensor(self, *shape: int) -> Any:
        self.count += 1
        return relay.var(f"v{self.count}", shape=shape)


def _dense(r: Random, names: _Names, units: list[int]) -> list[Any]:
    x = names.tensor(r.randint(1, 4), 3)
    return [relay.nn.dense(x, names.tensor(n, 3)) for n in units]


def _conv(r: Random, names: _Names, units: list[int]) -> list[Any]:
    if r.random() < 0.5:
        x = names.tensor(1, 2, r.randint(2, 4), 3)
        return [relay.nn.conv2d(x, names.tensor(n, 2, 1, 1)) for n in units]
    x = names.tensor(1, r.randint(2, 4), 3, 2)
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    return [relay.nn.conv2d(x, names.tensor(1, 1, 2, n), **layouts) for n in units]


def _batch_matmul(r: Random, names: _Names, units: list[int]) -> list[Any]:
    x, transposed = names.tensor(2, r.randint(2, 4), 3), r.random() < 0.5
    shapes = [(n, 3) if transposed else (3, n) for n in units]
    return [relay.nn.batch_matmul(x, names.tensor(2, *shape), transpose_b=transposed) for shape in shapes]


PASSES: dict[str, tuple[Any, Any]] = {
    "dense": (_dense, lambda: transform.CombineParallelDense(2, to_batch=False)),
    "dense in a batch": (_dense, lambda: transform.CombineParallelDense(2)),
    "conv2d": (_conv, lambda: transform.CombineParallelConv2D(2)),
    "batch_matmul": (_batch_matmul, lambda: transform.CombineParallelBatchMatmul(2)),
}


def _follower(r: Random, names: _Names, rank: int) -> Follower:
    """Return what may follow each of several branches of one rank, and of other extents."""
    axis = r.randrange(-rank, rank)
    kept = r.randrange(rank + 1)
    ones = [r.random() < 0.4 for _ in range(kept)]
    swapped = r.random() < 0.5

    def combined(e: Any) -> Any:
        dims = shape_of(e)
        dims = dims[len(dims) - min(kept, len(dims)) :]
        other = names.tensor(*[1 if one else d for one, d in zip(ones, dims, strict=False)])
        return relay.subtract(*((other, e) if swapped else (e, other)))

    def biased(e: Any) -> Any:
        at = min(max(axis, -len(shape_of(e))), len(shape_of(e)) - 1)
        return relay.nn.bias_add(e, names.tensor(shape_of(e)[at]), at)

    def widened(e: Any) -> Any:
        return relay.broadcast_to(e, (2, *shape_of(e)) if kept % 2 else shape_of(e))

    def moved(e: Any) -> Any:
        return relay.transpose(e, list(range(len(shape_of(e))))[::-1])

    made: list[Follower] = [
        relay.nn.relu,
        lambda e: relay.clip(e, -3.0, 5.0),
        lambda e: relay.cast(e, "float64") if kept == 0 else relay.multiply(e, relay.const(2.0)),
        combined,
        combined,
        biased,
        widened,
        moved,
        lambda e: relay.expand_dims(e, axis=r_axis(e)),
        lambda e: relay.reshape(e, (-1, *shape_of(e)[1:])),
        lambda e: relay.nn.softmax(e, axis=-1),
        lambda e: relay.nn.leaky_relu(e, 0.5),
    ]

    def r_axis(e: Any) -> int:
        return min(abs(axis), len(shape_of(e)))

    return r.choice(made)


def _graph(heads: Any, r: Random) -> Any:
    names = _Names()
    same = r.random() < 0.5
    units = [r.randint(1, 4)] * 3 if same else [r.randint(1, 4) for _ in range(r.randint(2, 4))]
    branches = heads(r, names, units)
    rank = len(shape_of(branches[0]))
    for _ in range(r.randint(0, 3)):
        follower = _follower(r, names, rank)
        if any(relay.transform.InferTypeLocal(e).dtype != "float32" for e in branches):
            break
        branches = [follower(e) for e in branches]
        if r.random() < 0.2:
            branches[0] = relay.nn.relu(branches[0])
    return relay.Tuple(branches)


@pytest.mark.parametrize("name", PASSES)
def test_branches_that_are_combined_keep_types_and_values(name: str) -> None:
    heads, make = PASSES[name]
    combined = 0
    for seed in range(SEEDS):
        mod = module_of(_graph(heads, Random(seed)))
        inputs = small_inputs(mod, seed)
        with PassContext(opt_level=4):
            after = transform.InferType()(make()(mod))
            pipeline = transform.Sequential([transform.SimplifyExpr(), make(), transform.FoldConstant(), make()])(mod)
        for changed in (after, transform.InferType()(pipeline)):
            assert changed["main"].checked_type == mod["main"].checked_type, f"{seed}\n{mod}\n{changed}"
            for got, want in zip(*(flat(evaluate(m["main"], inputs)) for m in (changed, mod)), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=f"{seed}\n{mod}\n{changed}")
        combined += list_op_freqs(after).get("strided_slice", 0) + list_op_freqs(after).get("squeeze", 0) > 0
    assert combined > SEEDS // 8, "most branches can be combined"
