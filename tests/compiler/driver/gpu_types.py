"""Random programs for GPUs of several types, whose sizes may be known to the call alone, or that launch two kernels."""

from __future__ import annotations

import random
from typing import Any

from compiler import te
from tests.compiler.driver.gpu_programs import GPUProgram

TYPES = ("float32", "float16", "int8", "int32")
SUMS = {"float16": "float32", "int8": "int32"}
"""The types that sums of products have, where it is not their own."""


def typed_program(seed: int, types: tuple[str, ...] = TYPES, kernels: int = 2) -> GPUProgram:
    """Return the program of a seed, of one of some types, that launches at most so many kernels."""
    rng = random.Random(seed)
    makers = [_sizes, _rows, _vectors, _tiles, *([_kernels] if kernels > 1 else [])]
    return rng.choice(makers)(rng, rng.choice(types))


def _bind(s: te.Schedule, tensor: te.Tensor, threads: int, lanes: int = 1) -> Any:
    """Bind all elements of a stage, some to each thread as a vector; return the loop over threads."""
    fused = s[tensor].fuse(*s[tensor].op.axis)
    if lanes > 1:
        fused, vector = s[tensor].split(fused, factor=lanes)
        s[tensor].vectorize(vector)
    block, thread = s[tensor].split(fused, factor=threads)
    s[tensor].bind(block, te.thread_axis("blockIdx.x"))
    s[tensor].bind(thread, te.thread_axis("threadIdx.x"))
    return thread


def _sizes(rng: random.Random, dtype: str) -> GPUProgram:
    """An array of any length, with predicates at its end."""
    n, length = te.var("n"), rng.randint(1, 300)
    a = te.placeholder((n,), name="A", dtype=dtype)
    b = te.compute((n,), lambda i: a[i] + a[n - 1 - i], name="B")
    s = te.create_schedule(b.op)
    _bind(s, b, rng.choice((16, 64)))
    return GPUProgram(s, [a, b], lambda x: x + x[::-1], [(length,), (length,)])


def _rows(rng: random.Random, dtype: str) -> GPUProgram:
    """Sums of as many rows, of any length, as there are."""
    n, m, rows, columns = te.var("n"), te.var("m"), rng.randint(1, 40), rng.randint(1, 40)
    a = te.placeholder((n, m), name="A", dtype=dtype)
    k = te.reduce_axis((0, m), name="k")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    local = s.cache_write(b, "local")
    s[local].compute_at(s[b], _bind(s, b, rng.choice((8, 16))))
    return GPUProgram(s, [a, b], lambda x: x.sum(1, dtype=dtype), [(rows, columns), (rows,)])


def _vectors(rng: random.Random, dtype: str) -> GPUProgram:
    """Elements that threads read and write by vectors."""
    n = 4 * rng.randint(1, 20) * rng.choice((1, 8))
    a = te.placeholder((n,), name="A", dtype=dtype)
    b = te.compute((n,), lambda i: a[i] * te.const(3, dtype) - te.const(1, dtype), name="B")
    s = te.create_schedule(b.op)
    _bind(s, b, 8, lanes=rng.choice((2, 4)))
    return GPUProgram(s, [a, b], lambda x: (x * 3 - 1).astype(dtype))


def _kernels(rng: random.Random, dtype: str) -> GPUProgram:
    """A kernel that reads what another has written."""
    n, m = rng.randint(1, 40), rng.randint(1, 40)
    a = te.placeholder((n, m), name="A", dtype=dtype)
    b = te.compute((n, m), lambda i, j: a[i, j] + te.const(2, dtype), name="B")
    c = te.compute((m, n), lambda i, j: b[j, i] * b[j, m - 1 - i], name="C")
    s = te.create_schedule(c.op)
    for tensor in (b, c):
        _bind(s, tensor, rng.choice((4, 32, 64)))
    return GPUProgram(s, [a, c], lambda x: ((x + 2) * (x + 2)[:, ::-1]).T)


def _tiles(rng: random.Random, dtype: str) -> GPUProgram:
    """A product of matrices with tiles in shared memory, some of them twice, and steps that need not divide it."""
    n, total = 16 * rng.randint(1, 3), SUMS.get(dtype, dtype)
    a, b = (te.placeholder((n, n), name=name, dtype=dtype) for name in "AB")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k].astype(total) * b[k, j].astype(total), axis=k), name="C")
    s = te.create_schedule(c.op)
    local = s.cache_write(c, "local")
    staged = [s.cache_read(tensor, "shared", [local]) for tensor in (a, b)]
    each, threads = rng.choice((1, 2, 4)), rng.choice((2, 4))
    tx, ty = te.thread_axis("threadIdx.x"), te.thread_axis("threadIdx.y")
    (bi, i), (bj, j) = (s[c].split(axis, factor=each * threads) for axis in c.op.axis)
    (i, ii), (j, jj) = s[c].split(i, factor=each), s[c].split(j, factor=each)
    s[c].reorder(bi, bj, i, j, ii, jj)
    for loop, axis in ((bi, te.thread_axis("blockIdx.y")), (bj, te.thread_axis("blockIdx.x")), (i, ty), (j, tx)):
        s[c].bind(loop, axis)
    s[local].compute_at(s[c], j)
    outer, inner = s[local].split(s[local].op.reduce_axis[0], factor=rng.choice((4, 5, 8)))
    s[local].reorder(outer, inner, *s[local].op.axis)
    for tensor in staged:
        s[tensor].compute_at(s[local], outer)
        fused = s[tensor].fuse(*s[tensor].op.axis)
        for axis in (tx, ty):
            fused, thread = s[tensor].split(fused, factor=threads)
            s[tensor].bind(thread, axis)
        if rng.random() < 0.6:
            s[tensor].double_buffer()
    return GPUProgram(s, [a, b, c], lambda x, y: x.astype(total) @ y.astype(total))
