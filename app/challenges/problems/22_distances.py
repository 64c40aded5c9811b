"""Distances of points

The squared distance of each of 512 points from each of 512 others, in 64 dimensions.
"""
# /// challenge
# group = "Products"
# hint = """
# It is built like a matrix product: tile it like one.
# """
# numpy = "lambda A, B: (A * A).sum(axis=1)[:, None] - 2 * A @ B.T + (B * B).sum(axis=1)"
# peak = "compute"
# small = { m = 13, n = 33, depth = 20 }
# ///

import tvm
from tvm import te

m, n, depth = 512, 512, 64
A = te.placeholder((m, depth), name="A")
B = te.placeholder((n, depth), name="B")
k = te.reduce_axis((0, depth), name="k")
C = te.compute((m, n), lambda i, j: te.sum((A[i, k] - B[j, k]) * (A[i, k] - B[j, k]), axis=k), name="C")

s = te.create_schedule(C.op)
f = tvm.build(s, [A, B, C], target="llvm", name="distances")
