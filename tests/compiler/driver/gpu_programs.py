"""Random programs whose loops are bound to thread axes, with what NumPy makes of the same arrays."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from compiler import te, tir

KINDS = ("cuda", "opencl", "metal", "webgpu", "vulkan", "rocm")
Arrays = list["np.ndarray[Any, Any]"]


class GPUProgram(NamedTuple):
    """A schedule for a GPU, its arguments, inputs first, and the reference of its last argument.

    Arguments whose size the call alone knows have the shapes given.
    """

    schedule: te.Schedule
    args: list[te.Tensor]
    reference: Callable[..., Any]
    shapes: list[tuple[int, ...]] | None = None

    def arrays(self, seed: int) -> Arrays:
        """Return random inputs, and an output that is filled with what no result is."""
        rng = np.random.default_rng(seed)
        shapes = self.shapes or [tuple(int(extent) for extent in tensor.shape) for tensor in self.args]
        dtypes = [tensor.dtype for tensor in self.args]
        inputs = [rng.integers(-8, 9, shape).astype(dtype) for shape, dtype in zip(shapes[:-1], dtypes, strict=False)]
        return [*inputs, np.full(shapes[-1], 123, dtypes[-1])]


def random_program(seed: int) -> GPUProgram:
    """Return the program of a seed."""
    rng = random.Random(seed)
    return rng.choice(_MAKERS)(rng)


def _axis(tag: str) -> Any:
    return te.thread_axis(tag)


def _neighbours(rng: random.Random) -> GPUProgram:
    """A stage in shared memory that each thread reads neighbours of."""
    n, m, reach = rng.randint(3, 40), rng.randint(3, 40), rng.randint(1, 3)
    a = te.placeholder((n, m + reach), name="A")
    b = te.compute((n, m + reach), lambda i, j: a[i, j] * 2.0 + 1.0, name="B")
    c = te.compute((n, m), lambda i, j: b[i, j] - b[i, j + reach], name="C")
    s = te.create_schedule(c.op)
    block, inner = s[c].split(c.op.axis[0], factor=rng.choice((1, 2, 4)))
    tile, thread = s[c].split(c.op.axis[1], factor=rng.choice((4, 8, 16)))
    s[c].reorder(block, tile, inner, thread)
    s[c].bind(block, _axis("blockIdx.x"))
    s[c].bind(tile, _axis("blockIdx.y"))
    tx, ty = _axis("threadIdx.x"), _axis("threadIdx.y")
    s[c].bind(inner, ty)
    s[c].bind(thread, tx)
    s[b].set_scope("shared")
    s[b].compute_at(s[c], tile)
    _spread(s, b, rng, tx)
    return GPUProgram(s, [a, c], lambda x: (2 * x + 1)[:, :m] - (2 * x + 1)[:, reach:])


def _spread(s: te.Schedule, tensor: te.Tensor, rng: random.Random, *axes: Any) -> None:
    """Let the threads of a block fill a stage together."""
    fused = s[tensor].fuse(*s[tensor].op.axis)
    for axis in axes:
        fused, thread = s[tensor].split(fused, factor=_extent(s, axis))
        s[tensor].bind(thread, axis)
    if rng.random() < 0.3:
        s[tensor].unroll(fused)


def _extent(s: te.Schedule, axis: Any) -> int:
    """Return the extent that the loops bound to an axis have."""
    domains = te.schedule.InferBound(s.normalize())
    for stage in s.stages:
        for loop in stage.leaf_iter_vars:
            bound = stage.iter_var_attrs.get(loop)
            if bound is not None and bound.bind_thread is not None and bound.bind_thread.thread_tag == axis.thread_tag:
                return int(domains[loop].extent)
    raise AssertionError("the axis is bound nowhere")


def _matmul(rng: random.Random) -> GPUProgram:
    """Tiles in shared memory, sums in local memory."""
    n, m, size = (rng.choice((16, 32, 48)) for _ in range(3))
    a, b = te.placeholder((n, size), name="A"), te.placeholder((size, m), name="B")
    k = te.reduce_axis((0, size), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    staged = [s.cache_read(tensor, "shared", [c]) for tensor in rng.sample((a, b), rng.randint(0, 2))]
    local = s.cache_write(c, "local")
    threads, each = rng.choice((2, 4)), rng.choice((1, 2, 4))
    tx, ty = _axis("threadIdx.x"), _axis("threadIdx.y")
    (bi, i), (bj, j) = (s[c].split(axis, factor=threads * each) for axis in c.op.axis)
    (ti, ii), (tj, jj) = s[c].split(i, factor=each), s[c].split(j, factor=each)
    s[c].reorder(bi, bj, ti, tj, ii, jj)
    for loop, axis in ((bi, _axis("blockIdx.y")), (bj, _axis("blockIdx.x")), (ti, ty), (tj, tx)):
        s[c].bind(loop, axis)
    s[local].compute_at(s[c], tj)
    outer, inner = s[local].split(s[local].op.reduce_axis[0], factor=rng.choice((4, 8)))
    s[local].reorder(outer, inner, *s[local].op.axis)
    for tensor in staged:
        s[tensor].compute_at(s[local], outer)
        fused = s[tensor].fuse(*s[tensor].op.axis)
        fused, x = s[tensor].split(fused, factor=threads)
        fused, y = s[tensor].split(fused, factor=threads)
        s[tensor].bind(x, tx)
        s[tensor].bind(y, ty)
        if rng.random() < 0.3:
            s[tensor].double_buffer()
    return GPUProgram(s, [a, b, c], lambda x, y: x @ y)


_COMBINERS: tuple[tuple[Any, Any], ...] = ((te.sum, np.sum), (te.max, np.max), (te.min, np.min))


def _reduction(rng: random.Random) -> GPUProgram:
    """A reduction across threads of parts that each thread reduces alone."""
    rows, columns, threads = rng.randint(1, 9), rng.randint(2, 100), rng.choice((2, 4, 6, 32, 64))
    combine, reference = rng.choice(_COMBINERS)
    a = te.placeholder((rows, columns), name="A")
    k = te.reduce_axis((0, columns), name="k")
    b = te.compute((rows,), lambda i: combine(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    _, inner = s[b].split(b.op.reduce_axis[0], factor=threads)
    part = s.rfactor(b, inner)
    tx = _axis("threadIdx.x")
    block, row = s[b].split(s[b].op.axis[0], factor=rng.choice((1, 2, 3)))
    s[b].bind(block, _axis("blockIdx.x"))
    s[b].bind(row, _axis("threadIdx.y"))
    s[b].bind(s[b].op.reduce_axis[0], tx)
    s[part].compute_at(s[b], s[b].op.reduce_axis[0])
    if rng.random() < 0.7:
        s[b].set_store_predicate(tx.var.equal(0))
    return GPUProgram(s, [a, b], lambda x: reference(x, axis=1))


def _bound_reduction(rng: random.Random) -> GPUProgram:
    """A reduction whose axis is bound, and a stage that reads the result in all threads."""
    rows, threads = rng.randint(1, 6), rng.choice((3, 8, 16, 32, 48))
    combine, reference = rng.choice(_COMBINERS)
    a = te.placeholder((rows, threads), name="A")
    k = te.reduce_axis((0, threads), name="k")
    b = te.compute((rows,), lambda i: combine(a[i, k], axis=k), name="B")
    c = te.compute((rows, threads), lambda i, j: a[i, j] - b[i], name="C")
    s = te.create_schedule(c.op)
    tx = _axis("threadIdx.x")
    s[c].bind(c.op.axis[0], _axis("blockIdx.x"))
    s[c].bind(c.op.axis[1], tx)
    s[b].compute_at(s[c], c.op.axis[0])
    s[b].set_scope("shared")
    s[b].bind(b.op.reduce_axis[0], tx)
    return GPUProgram(s, [a, c], lambda x: x - reference(x, axis=1, keepdims=True))


def _transposition(rng: random.Random) -> GPUProgram:
    """A tile that threads write by rows and read by columns."""
    tile = rng.choice((2, 4, 8))
    n, m = tile * rng.randint(1, 4), tile * rng.randint(1, 4)
    a = te.placeholder((n, m), name="A")
    b = te.compute((m, n), lambda i, j: a[j, i], name="B")
    s = te.create_schedule(b.op)
    shared = s.cache_read(a, rng.choice(("shared", "shared.dyn")), [b])
    tx, ty = _axis("threadIdx.x"), _axis("threadIdx.y")
    bi, bj, i, j = s[b].tile(*b.op.axis, tile, tile)
    for loop, axis in ((bi, _axis("blockIdx.y")), (bj, _axis("blockIdx.x")), (i, ty), (j, tx)):
        s[b].bind(loop, axis)
    s[shared].compute_at(s[b], bj)
    s[shared].bind(s[shared].op.axis[0], ty)
    s[shared].bind(s[shared].op.axis[1], tx)
    if rng.random() < 0.5:
        s[shared].storage_align(s[shared].op.axis[0], tile, 1)
    return GPUProgram(s, [a, b], lambda x: x.T)


def _virtual_threads(rng: random.Random) -> GPUProgram:
    """Threads that do the work of several, some of it predicated, some of it vectorized."""
    n, virtual, threads = rng.randint(5, 200), rng.choice((2, 3)), rng.choice((4, 8))
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: tir.if_then_else(a[i] > 0.0, a[i] * 3.0, a[n - 1 - i]), name="B")
    s = te.create_schedule(b.op)
    rest, inner = s[b].split(b.op.axis[0], factor=rng.choice((1, 4)))
    rest, thread = s[b].split(rest, factor=threads)
    block, each = s[b].split(rest, factor=virtual)
    s[b].bind(block, _axis("blockIdx.x"))
    s[b].bind(each, _axis("vthread"))
    s[b].bind(thread, _axis("threadIdx.x"))
    if rng.random() < 0.5:
        s[b].vectorize(inner)
    return GPUProgram(s, [a, b], lambda x: np.where(x > 0, 3 * x, x[::-1]))


def _virtual_tiles(rng: random.Random) -> GPUProgram:
    """A product of matrices by virtual threads, with vectorised copies of the next tile into the other half."""
    n, m, size = (rng.choice((16, 32)) for _ in range(3))
    a, b = te.placeholder((n, size), name="A"), te.placeholder((size, m), name="B")
    k = te.reduce_axis((0, size), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    scope = rng.choice(("shared", "shared.dyn"))
    staged = [s.cache_read(tensor, scope, [c]) for tensor in (a, b)]
    registers = [s.cache_read(tensor, "local", [c]) for tensor in staged] if rng.random() < 0.5 else []
    local = s.cache_write(c, "local")
    threads, virtual = rng.choice((2, 4)), rng.choice((1, 2))
    tx, ty, vx, vy = _axis("threadIdx.x"), _axis("threadIdx.y"), _axis("vthread"), _axis("vthread")
    (bi, i), (bj, j) = (s[c].split(axis, factor=8 * virtual) for axis in c.op.axis)
    (vi, i), (vj, j) = (s[c].split(axis, nparts=virtual) for axis in (i, j))
    (ti, ii), (tj, jj) = (s[c].split(axis, nparts=threads) for axis in (i, j))
    s[c].reorder(bi, bj, vi, vj, ti, tj, ii, jj)
    for loop, axis in ((bi, _axis("blockIdx.y")), (bj, _axis("blockIdx.x")), (vi, vy), (vj, vx), (ti, ty), (tj, tx)):
        s[c].bind(loop, axis)
    s[local].compute_at(s[c], tj)
    outer, inner = s[local].split(s[local].op.reduce_axis[0], factor=rng.choice((4, 8)))
    s[local].reorder(outer, inner, *s[local].op.axis)
    for tensor in registers:
        s[tensor].compute_at(s[local], inner)
    for tensor in staged:
        s[tensor].compute_at(s[local], outer)
        fused, vector = s[tensor].split(s[tensor].fuse(*s[tensor].op.axis), factor=4)
        fused, x = s[tensor].split(fused, factor=threads)
        fused, y = s[tensor].split(fused, factor=threads)
        s[tensor].bind(x, tx)
        s[tensor].bind(y, ty)
        s[tensor].vectorize(vector)
        if rng.random() < 0.5:
            s[tensor].double_buffer()
    return GPUProgram(s, [a, b, c], lambda x, y: x @ y)


def _square_reduction(rng: random.Random) -> GPUProgram:
    """A reduction across the threads of both axes of a block, stored by one of them."""
    rows, height, width = rng.randint(1, 5), rng.choice((2, 4, 5, 8)), rng.choice((2, 4, 8, 16))
    combine, reference = rng.choice(_COMBINERS)
    each = rng.randint(1, 3)
    a = te.placeholder((rows, height, width * each), name="A")
    k, m = te.reduce_axis((0, height), name="k"), te.reduce_axis((0, width * each), name="m")
    b = te.compute((rows,), lambda i: combine(a[i, k, m], axis=[k, m]), name="B")
    s = te.create_schedule(b.op)
    tx, ty = _axis("threadIdx.x"), _axis("threadIdx.y")
    if each == 1:
        down, across = s[b].op.reduce_axis
    else:
        _, inner = s[b].split(s[b].op.reduce_axis[1], factor=width)
        s[b].reorder(s[b].op.reduce_axis[0], inner)
        part = s.rfactor(b, inner)
        down, across = None, s[b].op.reduce_axis[0]
        s[part].compute_at(s[b], across)
    if down is not None:
        s[b].bind(down, ty)
    s[b].bind(across, tx)
    s[b].bind(s[b].op.axis[0], _axis("blockIdx.x"))
    if rng.random() < 0.7:
        first = tx.var.equal(0) if down is None else tir.all(tx.var.equal(0), ty.var.equal(0))
        s[b].set_store_predicate(first)
    return GPUProgram(s, [a, b], lambda x: reference(x, axis=(1, 2)))


def _vectors(rng: random.Random) -> GPUProgram:
    """Rows that threads read and write by vectors of two or four elements, some through local memory."""
    lanes, threads = rng.choice((2, 4)), rng.choice((4, 8, 32))
    n = lanes * threads * rng.randint(1, 4) + (0 if rng.random() < 0.7 else lanes)
    a, b = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    c = te.compute((n,), lambda i: a[i] * b[i] + a[i], name="C")
    s = te.create_schedule(c.op)
    local = s.cache_read(a, "local", [c]) if rng.random() < 0.5 else None
    rest, vector = s[c].split(c.op.axis[0], factor=lanes)
    block, thread = s[c].split(rest, factor=threads)
    s[c].bind(block, _axis("blockIdx.x"))
    s[c].bind(thread, _axis("threadIdx.x"))
    s[c].vectorize(vector)
    if local is not None:
        s[local].compute_at(s[c], thread)
        s[local].vectorize(s[local].op.axis[0])
    return GPUProgram(s, [a, b, c], lambda x, y: x * y + x)


_MAKERS = (
    _neighbours, _matmul, _reduction, _bound_reduction, _transposition, _virtual_threads, _virtual_tiles,
    _square_reduction, _vectors,
)  # fmt: skip


def warp_program(seed: int) -> GPUProgram:
    """Return a program whose warps share memory: for devices with warps of 32 threads."""
    rng = random.Random(seed)
    rows, reach = rng.choice((1, 3, 8)), rng.randint(1, 31)
    a = te.placeholder((rows, 32), name="A")
    b = te.compute((rows, 32), lambda i, j: a[i, (j + reach) % 32] + a[i, j], name="B")
    s = te.create_schedule(b.op)
    warp = s.cache_read(a, "warp", [b])
    tx = _axis("threadIdx.x")
    block, row = s[b].split(b.op.axis[0], factor=rng.choice((1, 2)))
    s[b].bind(block, _axis("blockIdx.x"))
    s[b].bind(row, _axis("threadIdx.y"))
    s[b].bind(b.op.axis[1], tx)
    s[warp].compute_at(s[b], row)
    s[warp].bind(s[warp].op.axis[1], tx)
    return GPUProgram(s, [a, b], lambda x: np.roll(x, -reach, 1) + x)
