"""Matmul, unscheduled

Three loops in the order of the definition. The innermost one walks down a column of B: every iteration touches another
cache line, which makes this slow.
"""

import tvm
from tvm import te

M = N = K = 512
A = te.placeholder((M, K), name="A")
B = te.placeholder((K, N), name="B")
k = te.reduce_axis((0, K), name="k")
C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

s = te.create_schedule(C.op)
print(tvm.lower(s, [A, B, C], simple_mode=True))
