"""GPU matmul 3: tiles in shared memory

The threads of a block cooperatively fetch a tile of A and one of B, synchronise, and read each element sixteen times
from shared memory: a sixteenth of the global memory traffic. Lowering inserts the barriers.
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
AS, BS = s.cache_read(A, "shared", [CL]), s.cache_read(B, "shared", [CL])
ty, tx = te.thread_axis((0, 16), "threadIdx.y"), te.thread_axis((0, 16), "threadIdx.x")
i, j = s[C].op.axis
(by, i), (bx, j) = s[C].split(i, factor=16), s[C].split(j, factor=16)
s[C].reorder(by, bx, i, j)
for axis, thread in ((by, te.thread_axis("blockIdx.y")), (bx, te.thread_axis("blockIdx.x")), (i, ty), (j, tx)):
    s[C].bind(axis, thread)
s[CL].compute_at(s[C], j)
ko, ki = s[CL].split(s[CL].op.reduce_axis[0], factor=16)
s[CL].reorder(ko, ki, *s[CL].op.axis)
for shared in (AS, BS):
    s[shared].compute_at(s[CL], ko)
    rows, columns = s[shared].op.axis
    s[shared].bind(rows, ty)
    s[shared].bind(columns, tx)
f = tvm.build(s, [A, B, C], target="cuda")
