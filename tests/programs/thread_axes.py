"""Loops bound to blocks and threads."""

import tvm
from tvm import te

n = 1000
A = te.placeholder((n,), name="A")
B = te.placeholder((n,), name="B")
C = te.compute((n,), lambda i: A[i] + B[i], name="C")
s = te.create_schedule(C.op)
block, thread = s[C].split(C.op.axis[0], factor=64)
s[C].bind(block, te.thread_axis("blockIdx.x"))
s[C].bind(thread, te.thread_axis("threadIdx.x"))
print(tvm.lower(s, [A, B, C]))
