"""Blocks and threads

Axes bound to blocks and threads of a GPU: the loop IR shows what each thread computes, next to the kernel in CUDA C and
PTX. The server has no GPU, but your machine may have one: Your GPU, in the Benchmark pane, runs the kernel through your
browser.
"""

import tvm
from tvm import te

n = 1 << 16
A = te.placeholder((n,), name="A")
B = te.placeholder((n,), name="B")
C = te.compute((n,), lambda i: A[i] * B[i], name="C")

s = te.create_schedule(C.op)
block, thread = s[C].split(C.op.axis[0], factor=256)
s[C].bind(block, te.thread_axis("blockIdx.x"))
s[C].bind(thread, te.thread_axis("threadIdx.x"))

print(tvm.lower(s, [A, B, C]))
