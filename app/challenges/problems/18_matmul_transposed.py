"""Product with a transposed matrix

Multiply rows by rows, as a layer of a network does with its weights.
"""
# /// challenge
# group = "Products"
# hint = """
# Both are read along k, and C wants vectors along j. cache_read can bring B into another order first.
# """
# numpy = "lambda A, B: A @ B.T"
# peak = "compute"
# small = { m = 13, n = 33, depth = 20 }
# ///

import tvm
from tvm import te

m, n, depth = 256, 512, 512
A = te.placeholder((m, depth), name="A")
B = te.placeholder((n, depth), name="B")
k = te.reduce_axis((0, depth), name="k")
C = te.compute((m, n), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")

s = te.create_schedule(C.op)
f = tvm.build(s, [A, B, C], target="llvm", name="matmul_transposed")
