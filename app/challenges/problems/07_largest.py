"""The largest number

Find the largest of a million numbers.
"""
# /// challenge
# group = "Vectors"
# hint = """
# As for a sum: rfactor over a split reduction makes independent maxima, which become one vector.
# """
# numpy = "lambda A: A.max(keepdims=True)"
# peak = "memory"
# small = { n = 1000 }
# ///

import tvm
from tvm import te

n = 1 << 20
A = te.placeholder((n,), name="A")
k = te.reduce_axis((0, n), name="k")
B = te.compute((1,), lambda i: te.max(A[k], axis=k), name="B")

s = te.create_schedule(B.op)
f = tvm.build(s, [A, B], target="llvm", name="largest")
