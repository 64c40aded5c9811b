"""Matrix product with tails

Multiply matrices whose sizes nothing divides: 251, 509 and 383 are prime.
"""
# /// challenge
# group = "Products"
# hint = """
# A split that leaves a tail guards every round. A guard that all rounds but the last decide alike can be split
# off: look for if in the loop IR.
# """
# numpy = "lambda A, B: A @ B"
# peak = "compute"
# small = { m = 11, n = 31, depth = 17 }
# ///

import tvm
from tvm import te

m, n, depth = 251, 509, 383
A = te.placeholder((m, depth), name="A")
B = te.placeholder((depth, n), name="B")
k = te.reduce_axis((0, depth), name="k")
C = te.compute((m, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

s = te.create_schedule(C.op)
f = tvm.build(s, [A, B, C], target="llvm", name="matmul_with_tails")
