"""Accesses followed through loops, against the places that the loops give."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler import te
from compiler.driver.device_pipeline import split_for_device
from compiler.driver.lower import lower
from compiler.target.target import Target
from compiler.tir.warp_access import WarpAccess, explain_kernels, walk_through
from compiler.tir.warp_access.walkthrough import MAX_ITERATIONS, MAX_PLACES


def row_sums(n: int, m: int, threads: int) -> dict[tuple[str, bool], WarpAccess]:
    """Return the accesses of a kernel that adds up the rows of a matrix, a thread each."""
    a = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    block, thread = s[b].split(b.op.axis[0], factor=threads)
    s[b].bind(block, te.thread_axis("blockIdx.x"))
    s[b].bind(thread, te.thread_axis("threadIdx.x"))
    module: Any = split_for_device(lower(s, [a, b]), Target("cuda", host="llvm"), packed=False).device
    [kernel] = explain_kernels(module)
    return {(access.buffer, access.writes): access for access in kernel.accesses}


def test_each_block_iteration_and_warp_is_at_its_place() -> None:
    n, m, threads = 200, 7, 48
    walk = walk_through(row_sums(n, m, threads)["A", False].site)
    assert [list(block.values()) for block in walk.blocks] == [[0], [1], [4]]
    assert [list(at.values()) for at in walk.iterations] == [[k] for k in range(m)]
    assert walk.all_iterations == m
    block, k, warp, lane = np.ogrid[:3, :m, :2, :32]
    thread = warp * 32 + lane
    row = np.array([0, 1, 4])[block] * threads + thread
    expected = np.where((thread < threads) & (row < n), (row * m + k) * 4, -1)
    np.testing.assert_array_equal(walk.addresses, expected)


def test_long_loops_are_followed_at_their_beginning() -> None:
    walk = walk_through(row_sums(256, 1000, 64)["A", False].site)
    assert (len(walk.iterations), walk.all_iterations) == (MAX_ITERATIONS, 1000)
    assert walk.addresses[..., 0].size <= MAX_PLACES


def test_an_access_outside_of_loops_has_one_iteration() -> None:
    accesses = row_sums(64, 1, 64)
    walk = walk_through(accesses["B", True].site)
    assert (walk.iterations, walk.all_iterations, len(walk.blocks)) == ([{}], 1, 1)
