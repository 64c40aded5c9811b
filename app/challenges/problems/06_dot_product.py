"""The dot product

Multiply two vectors of a million numbers, and add up.
"""
# /// challenge
# group = "Vectors"
# hint = """
# One sum is one chain of additions. rfactor makes several sums of it, which can be a vector.
# """
# numpy = "lambda A, B: np.dot(A, B)[None]"
# peak = "memory"
# small = { n = 1000 }
# ///

import tvm
from tvm import te

n = 1 << 20
A = te.placeholder((n,), name="A")
B = te.placeholder((n,), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((1,), lambda i: te.sum(A[k] * B[k], axis=k), name="C")

s = te.create_schedule(C.op)
f = tvm.build(s, [A, B, C], target="llvm", name="dot_product")
