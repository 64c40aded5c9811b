"""Matmul, loops reordered

The same three loops with k outside of j: the innermost loop now walks along rows of B and C, and a single line of the
schedule lets LLVM use vector instructions.
"""

import tvm
from tvm import te

M = N = K = 512
A = te.placeholder((M, K), name="A")
B = te.placeholder((K, N), name="B")
k = te.reduce_axis((0, K), name="k")
C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

s = te.create_schedule(C.op)
i, j = C.op.axis
s[C].reorder(i, k, j)
jo, ji = s[C].split(j, factor=16)
s[C].vectorize(ji)

matmul = tvm.build(s, [A, B, C], target="llvm -mcpu=native", name="matmul")
