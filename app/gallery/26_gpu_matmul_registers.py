"""GPU matmul 4: tiles in registers

Each thread computes 4 x 4 elements: it uses the eight values that it loads from shared memory for sixteen products. The
title of the PTX pane reports the registers that this takes, and the number of warps per multiprocessor.
"""

import tvm
from tvm import te

n = 512
A = te.placeholder((n, n), name="A")
B = te.placeholder((n, n), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
s = te.create_schedule(C.op)

tile, each, step = 64, 4, 16
threads = tile // each
CL = s.cache_write(C, "local")
AS, BS = s.cache_read(A, "shared", [CL]), s.cache_read(B, "shared", [CL])
AL, BL = s.cache_read(AS, "local", [CL]), s.cache_read(BS, "local", [CL])
ty, tx = te.thread_axis((0, threads), "threadIdx.y"), te.thread_axis((0, threads), "threadIdx.x")
i, j = s[C].op.axis
(by, i), (bx, j) = s[C].split(i, factor=tile), s[C].split(j, factor=tile)
(i, yi), (j, xi) = s[C].split(i, factor=each), s[C].split(j, factor=each)
s[C].reorder(by, bx, i, j, yi, xi)
for axis, thread in ((by, te.thread_axis("blockIdx.y")), (bx, te.thread_axis("blockIdx.x")), (i, ty), (j, tx)):
    s[C].bind(axis, thread)
s[CL].compute_at(s[C], j)
ko, ki = s[CL].split(s[CL].op.reduce_axis[0], factor=step)
s[CL].reorder(ko, ki, *s[CL].op.axis)
for axis in s[CL].op.axis:
    s[CL].unroll(axis)
for local in (AL, BL):
    s[local].compute_at(s[CL], ki)
for shared in (AS, BS):
    s[shared].compute_at(s[CL], ko)
    fused = s[shared].fuse(*s[shared].op.axis)
    fused, x = s[shared].split(fused, factor=threads)
    _, y = s[shared].split(fused, factor=threads)
    s[shared].bind(y, ty)
    s[shared].bind(x, tx)
f = tvm.build(s, [A, B, C], target="cuda")
