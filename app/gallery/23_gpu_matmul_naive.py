"""GPU matmul 1: one thread per row

Each thread computes whole rows: the accesses of adjacent threads are far apart, so that every access of a warp touches
32 sectors. The On a GPU pane reports it; press draw to see it.
"""

import tvm
from tvm import te

n = 512
A = te.placeholder((n, n), name="A")
B = te.placeholder((n, n), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
s = te.create_schedule(C.op)

i, j = s[C].op.axis
block, thread = s[C].split(i, factor=64)
s[C].bind(block, te.thread_axis("blockIdx.x"))
s[C].bind(thread, te.thread_axis("threadIdx.x"))
f = tvm.build(s, [A, B, C], target="cuda")
