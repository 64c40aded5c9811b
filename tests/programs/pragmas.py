"""Facts attached to loops and buffers: unrolling by pragma, aligned rows."""

import tvm
from tvm import te

n = 64
A = te.placeholder((n, n), name="A")
B = te.compute((n, n), lambda i, j: A[i, j] * 2.0, name="B")
C = te.compute((n, n), lambda i, j: B[i, j] + B[i, n - 1 - j], name="C")
s = te.create_schedule(C.op)
outer, inner = s[C].split(C.op.axis[1], factor=4)
s[C].pragma(C.op.axis[0], "auto_unroll_max_step", 8)
s[C].pragma(C.op.axis[0], "unroll_explicit", True)
s[B].compute_at(s[C], C.op.axis[0])
s[B].storage_align(B.op.axis[0], 16, 8)
print(tvm.lower(s, [A, C]))
