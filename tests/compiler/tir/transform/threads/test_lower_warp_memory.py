"""Memory of a warp becomes registers and shuffles that give every thread the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call
from compiler.ir.expr.substitute import free_vars
from compiler.target.target import Target
from compiler.tir import PrimFunc
from compiler.tir.expressions.device_ops import WARP_SHUFFLE
from compiler.tir.sanitizer import sanitize
from compiler.tir.statements.stmt import Allocate
from compiler.tir.transform import LowerWarpMemory, ThreadSync
from tests.compiler.tir.transform.programs import apply, nodes, program


def by_vectors(store: str, load: str) -> PrimFunc:
    """Return a kernel whose threads store and read two elements at once."""
    func = program(
        f"""
with T.launch_thread("threadIdx.x", 32) as tx:
    W = T.decl_buffer((64,), "int32", scope="warp")
    W[T.ramp({store}, 1, 2)] = A[T.ramp(tx * 2, 1, 2)]
    C[T.ramp(tx * 2, 1, 2)] = W[T.ramp({load}, 1, 2)] * T.broadcast(3, 2)
"""
    )
    return func.with_attr("target", Target("cuda"))


def kernel(size: int, store: str, load: str, threads: int = 32) -> PrimFunc:
    """Return a kernel that stores to ``W`` in a loop over ``a``, and reads in one over ``b``."""
    func = program(
        f"""
with T.launch_thread("threadIdx.x", {threads}) as tx:
    W = T.decl_buffer(({size},), "int32", scope="warp")
    for a in range(2):
        W[{store}] = A[a * {threads} + tx]
    for b in range(2):
        C[b * {threads} + tx] = W[{load}]
"""
    )
    return func.with_attr("target", Target("cuda"))


def run(func: PrimFunc) -> Any:
    """Return what a kernel makes of 64 numbers; it has no fault."""
    arrays = {"A": np.arange(64, dtype="int32") * 5 % 64, "C": np.full(64, -1, "int32")}
    result = sanitize(func, [arrays[func.buffer_map[p].name] if p in func.buffer_map else 5 for p in func.params])
    assert not result.reports, str(result)
    return arrays["C"]


@pytest.mark.parametrize(
    ("size", "store", "load", "threads"),
    [
        (64, "a * 32 + tx", "b * 32 + (tx + 1) % 32", 32),
        (64, "a * 32 + tx", "b * 32 + tx", 32),
        (64, "tx * 2 + a", "(31 - tx) * 2 + b", 32),
        (64, "tx * 2 + a", "(tx + b) % 32 * 2 + b", 32),
        (32, "a * 16 + tx", "b * 16 + (tx + 5) % 16", 16),
        (32, "a * 16 + tx", "(1 - b) * 16 + 15 - tx", 16),
    ],
)
def test_the_same_values(size: int, store: str, load: str, threads: int) -> None:
    func = kernel(size, store, load, threads)
    lowered = apply(func, LowerWarpMemory())
    assert all("warp" not in str(alloc.buffer_var.type_annotation) for alloc in nodes(lowered, Allocate))
    np.testing.assert_array_equal(run(lowered), run(apply(func, ThreadSync("warp"))))


def test_an_own_element_needs_no_shuffle() -> None:
    def shuffles(load: str) -> int:
        lowered = apply(kernel(64, "a * 32 + tx", load), LowerWarpMemory())
        return sum(call.op is WARP_SHUFFLE for call in nodes(lowered, Call))

    assert (shuffles("b * 32 + tx"), shuffles("b * 32 + 31 - tx")) == (0, 1)


def test_vectors_of_own_elements() -> None:
    func = by_vectors("tx * 2", "tx * 2")
    lowered = apply(func, LowerWarpMemory())
    np.testing.assert_array_equal(run(lowered), run(func))
    assert "_1[0:2] = A[" in str(lowered)


def test_several_warps_in_a_block() -> None:
    func = program(
        """
with T.launch_thread("threadIdx.x", 64) as tx:
    W = T.decl_buffer((32,), "int32", scope="warp")
    W[tx % 32] = A[tx]
    C[tx] = W[(tx % 32 + 3) % 32]
"""
    ).with_attr("target", Target("cuda"))
    lowered = apply(func, LowerWarpMemory())
    np.testing.assert_array_equal(run(lowered), run(apply(func, ThreadSync("warp"))))


def test_threads_that_are_launched_again() -> None:
    func = program(
        """
T.launch_thread("blockIdx.x", 1)
W = T.decl_buffer((32,), "int32", scope="warp")
with T.launch_thread("threadIdx.x", 64) as tx:
    W[tx % 32] = A[tx]
with T.launch_thread("threadIdx.x", 64) as ty:
    C[ty] = W[31 - ty % 32]
"""
    ).with_attr("target", Target("cuda"))
    lowered = apply(func, LowerWarpMemory())
    [shuffle] = [call for call in nodes(lowered, Call) if call.op is WARP_SHUFFLE]
    assert [var.name for var in free_vars(shuffle.args[2])] == ["ty"]
    np.testing.assert_array_equal(run(lowered), run(apply(func, ThreadSync("warp"))))


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (kernel(64, "a * 32 + tx", "b * 32 + tx", 24), "24 threads, which neither divide the 32 of a warp"),
        (kernel(48, "a * 32 + tx", "b * 32 + tx"), "its 48 elements must be a multiple of 32"),
        (kernel(64, "a * 32 + tx * tx", "b * 32 + tx"), "must be linear in threadIdx.x"),
        (kernel(64, "a * 32 + tx + 1", "b * 32 + tx"), "which is not in its part"),
        (by_vectors("tx", "tx"), "must lie in the part of one thread"),
        (by_vectors("tx * 2", "62 - tx * 2"), "of another thread must be read one by one"),
        (kernel(64, "tx * 2 + a", "tx"), "at an offset within its thread's part that differs between threads"),
        (kernel(64, "a * 32 + tx", "tx").without_attr("target"), "Require the target attribute"),
    ],
)
def test_refusals(func: PrimFunc, message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        apply(func, LowerWarpMemory())
