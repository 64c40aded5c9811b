"""GPU matmul 2: one block per tile

One thread per element, in blocks of 16 x 16: reads of B and writes of C are coalesced, and the sum stays in a register.
Every element of A and B is still read from global memory by many threads.
"""

import tvm
from tvm import te

n = 512
A = te.placeholder((n, n), name="A")
B = te.placeholder((n, n), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
s = te.create_schedule(C.op)

CL = s.cache_write(C, "local")
i, j = s[C].op.axis
(by, ty), (bx, tx) = s[C].split(i, factor=16), s[C].split(j, factor=16)
s[C].reorder(by, bx, ty, tx)
for axis, tag in zip((by, bx, ty, tx), ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x"), strict=True):
    s[C].bind(axis, te.thread_axis(tag))
s[CL].compute_at(s[C], tx)
f = tvm.build(s, [A, B, C], target="cuda")
