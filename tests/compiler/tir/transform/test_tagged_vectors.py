"""Accesses of vectors find the elements of buffers that lie behind others in one memory."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from compiler import te
from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.ir.expr.primexpr import Broadcast, Ramp, Var, const
from compiler.te.definition.numpy_reference import evaluate
from compiler.tir.interpreter import interpret
from compiler.tir.statements.buffer import moved_index
from compiler.tir.statements.stmt import Allocate
from tests.compiler.tir.transform.programs import nodes

DTYPES = ("int8", "int16", "int32", "float32", "float64", "float16")


@pytest.mark.parametrize("seed", range(24))
def test_programs_with_vectors_in_one_tagged_memory_compute_the_same(seed: int) -> None:
    random = Random(seed)
    n, lanes = random.choice((12, 16, 24, 30)), random.choice((2, 3, 4, 8, 16))
    dtypes = [random.choice(DTYPES) for _ in range(2)]
    A, B = te.placeholder((n,), dtypes[0], name="A"), te.placeholder((n,), dtypes[1], name="B")
    step = random.choice((1, n - 1))
    C: Any = te.compute((n,), lambda i: A[i * step % n].astype("int32") * 2 + B[n - 1 - i].astype("int32"), name="C")
    s = te.create_schedule(C.op)
    copies = [s.cache_read(t, "global:bank", [C]) for t in (A, B)]
    if random.random() < 0.5:
        copies.append(s.cache_write(C, "global:bank"))
    for t in (*copies, C):
        if random.random() < 0.8:
            s[t].vectorize(s[t].split(s[t].op.axis[0], lanes)[1])
    func = lower(s, [A, B, C])["main"]
    tagged = [n for n in nodes(func.body, Allocate) if n.buffer_var.type_annotation.storage_scope == "global:bank"]
    assert len(tagged) == 1
    arrays = [np.random.default_rng(seed).integers(-9, 9, n).astype(t.dtype) for t in (A, B)]
    expected = evaluate([C], dict(zip((A, B), arrays, strict=True)))[0]
    results = [np.full(n, 99, "int32") for _ in range(2)]
    interpret(func, [*arrays, results[0]])
    build(func, target="llvm")(*arrays, results[1])
    for result in results:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("lanes", [1, 4, -4])
@pytest.mark.parametrize(("dtype", "of_shift"), [("int32", "int32"), ("int64", "int32"), ("int32", "int64")])
def test_an_index_keeps_its_type_when_it_is_moved(lanes: int, dtype: str, of_shift: str) -> None:
    from compiler.ir.expr.lanes import lanes_of_count

    i, shift = Var("i", dtype), const(5, of_shift)
    if lanes == 1:
        assert moved_index(i, shift).dtype == dtype
        return
    ramp = Ramp(i, const(2, dtype), lanes_of_count(lanes))
    moved = moved_index(ramp, shift)
    assert isinstance(moved, Ramp)
    assert moved.dtype == ramp.dtype
    gathered = ramp * Broadcast(const(3, dtype), lanes_of_count(lanes))
    assert moved_index(gathered, shift).dtype == ramp.dtype
