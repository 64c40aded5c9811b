"""Many small products

Multiply 2048 pairs of matrices of 8 by 8.
"""
# /// challenge
# group = "Products"
# hint = """
# A row of a small matrix is a vector, and the whole product fits into registers: unroll what is left.
# """
# numpy = "lambda A, B: A @ B"
# peak = "compute"
# small = { count = 50, n = 5 }
# ///

import tvm
from tvm import te

count, n = 2048, 8
A = te.placeholder((count, n, n), name="A")
B = te.placeholder((count, n, n), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((count, n, n), lambda b, i, j: te.sum(A[b, i, k] * B[b, k, j], axis=k), name="C")

s = te.create_schedule(C.op)
f = tvm.build(s, [A, B, C], target="llvm", name="small_products")
