"""Kernels of GPUs without a GPU: the source for each kind, and what the kernel computes when it is emulated."""

import numpy as np
import tvm
from tvm import te, tir
from tvm.script import tir as T

from compiler.driver.emulate import emulate
from compiler.driver.sanitize import sanitize

random = np.random.default_rng(0)
a, b = random.random((32, 32), "float32"), random.random((32, 32), "float32")


def tiled():
    """A matrix product whose tiles threads stage in shared memory."""
    A, B = te.placeholder((32, 32), name="A"), te.placeholder((32, 32), name="B")
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((32, 32), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    shared = [s.cache_read(t, "shared", [C]) for t in (A, B)]
    local = s.cache_write(C, "local")
    by, bx, i, j = s[C].tile(*C.op.axis, 16, 16)
    ty, i = s[C].split(i, nparts=8)
    vx, j = s[C].split(j, nparts=2)
    tx, j = s[C].split(j, nparts=4)
    s[C].reorder(by, bx, vx, ty, tx, i, j)
    for loop, thread in (
        (by, "blockIdx.y"),
        (bx, "blockIdx.x"),
        (vx, "vthread"),
        (ty, "threadIdx.y"),
        (tx, "threadIdx.x"),
    ):
        s[C].bind(loop, te.thread_axis(thread))
    s[local].compute_at(s[C], tx)
    ko, _ = s[local].split(s[local].op.reduce_axis[0], 8)
    s[local].reorder(ko, *s[local].op.axis)
    for stage in shared:
        s[stage].compute_at(s[local], ko)
        fused = s[stage].fuse(*s[stage].op.axis)
        rest, tx = s[stage].split(fused, 4)
        rest, ty = s[stage].split(rest, 8)
        s[stage].bind(ty, te.thread_axis("threadIdx.y"))
        s[stage].bind(tx, te.thread_axis("threadIdx.x"))
    s[shared[0]].double_buffer()
    return s, [A, B, C], [a, b], a @ b


def reduced():
    """Sums of rows, each across the threads of a block."""
    A = te.placeholder((32, 32), name="A")
    k = te.reduce_axis((0, 32), name="k")
    C = te.compute((32,), lambda i: te.sum(A[i, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    return s, [A, C], [a], a.sum(1)


def shuffled():
    """A row reversed by the threads of a warp, through memory of the warp."""
    A = te.placeholder((4, 32), name="A")
    B = te.compute((4, 32), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((4, 32), lambda i, j: B[i, 31 - j], name="C")
    s = te.create_schedule(C.op)
    s[B].set_scope("warp")
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].bind(B.op.axis[1], te.thread_axis("threadIdx.x"))
    return s, [A, C], [a[:4]], a[:4, ::-1] * 2


def vectors():
    """Four numbers at a time, with functions that devices have in other names."""
    A = te.placeholder((128,), name="A")
    C = te.compute(
        (128,), lambda i: te.if_then_else(A[i] > 0.5, te.exp(A[i]), tir.sqrt(A[i]) + te.tanh(A[i])), name="C"
    )
    s = te.create_schedule(C.op)
    block, i = s[C].split(C.op.axis[0], 32)
    thread, i = s[C].split(i, 4)
    s[C].bind(block, te.thread_axis("blockIdx.x"))
    s[C].bind(thread, te.thread_axis("threadIdx.x"))
    s[C].vectorize(i)
    x = a.reshape(-1)[:128]
    return s, [A, C], [x], np.where(x > 0.5, np.exp(x), np.sqrt(x) + np.tanh(x))


KINDS = {
    "cuda": [tiled, reduced, shuffled, vectors],
    "opencl": [reduced, vectors],
    "metal": [reduced, vectors],
    "webgpu": [reduced, vectors],
}
for kind, makers in KINDS.items():
    for make in makers:
        s, args, inputs, expected = make()
        print(f"\n-- {kind}: {make.__doc__}")
        module = tvm.build(s, args, target=tvm.target.Target(kind, host="llvm"))
        print(module.imported_modules[0].get_source())
        out = np.zeros(expected.shape, "float32")
        emulate(s, args, tvm.target.Target(kind, host="llvm"))(*inputs, out)
        print("as NumPy:", np.allclose(out, expected, rtol=1e-4))
s, args, inputs, expected = tiled()
print("faults:", sanitize(s, args, "cuda", [*inputs, np.zeros_like(expected)]).reports)


@T.prim_func
def racing(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
    for t in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("shared"):
            S = T.alloc_buffer((32,), scope="shared")
            S[t] = A[t]
            C[t] = S[(t + 1) % 32]


gpu = tir.analysis.verify_gpu_code(tvm.lower(racing)["main"], {"max_threads_per_block": 16})
print("fits a device with blocks of 16 threads:", gpu)
