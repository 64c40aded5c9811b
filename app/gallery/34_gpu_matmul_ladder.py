"""GPU matmul: the ladder

All steps in one schedule: a thread for several rows, a thread per tile, sums in registers, tiles in shared memory,
vectors of four. Press Your GPU, then Ladder on your GPU: each step that a GPU can run is timed on yours, and the others
show the reason.
"""

import tvm
from tvm import te

n, tile, each, step = 512, 32, 4, 16
threads = tile // each
A = te.placeholder((n, n), name="A")
B = te.placeholder((n, n), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
s = te.create_schedule(C.op)
ty, tx = te.thread_axis((0, threads), "threadIdx.y"), te.thread_axis((0, threads), "threadIdx.x")

# naive: one thread for four rows
CL = s.cache_write(C, "local")
i, j = s[C].op.axis
by, i = s[C].split(i, factor=tile)
i, yi = s[C].split(i, factor=each)
s[CL].compute_at(s[C], j)
s[C].bind(by, te.thread_axis("blockIdx.y"))
s[C].bind(i, ty)

# tiled: one thread for 4 x 4 elements, computed one after the other
bx, j = s[C].split(j, factor=tile)
j, xi = s[C].split(j, factor=each)
s[C].reorder(by, bx, i, j, yi, xi)
s[CL].compute_at(s[C], xi)
s[C].bind(bx, te.thread_axis("blockIdx.x"))
s[C].bind(j, tx)

# registers: all 16 at once, so that each loaded value is used four times
s[CL].compute_at(s[C], j)
ko, ki = s[CL].split(s[CL].op.reduce_axis[0], factor=step)
s[CL].reorder(ko, ki, *s[CL].op.axis)
for axis in s[CL].op.axis:
    s[CL].unroll(axis)

# shared memory: the threads of a block fetch its tiles cooperatively
for array in (A, B):
    shared = s.cache_read(array, "shared", [CL])
    s[shared].compute_at(s[CL], ko)
    fused, lanes = s[shared].split(s[shared].fuse(*s[shared].op.axis), factor=4)
    fused, x = s[shared].split(fused, factor=threads)
    _, y = s[shared].split(fused, factor=threads)
    s[shared].bind(y, ty)
    s[shared].bind(x, tx)
    s[shared].vectorize(lanes)

# vectors of four
s[C].vectorize(xi)
f = tvm.build(s, [A, B, C], target="cuda")
