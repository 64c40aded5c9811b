"""Sums of rows

Add up each row of a matrix.
"""
# /// challenge
# group = "Rows and columns"
# hint = """
# Rows lie in memory one after the other, and a vector along a row has to be added up in the end: rfactor, or
# transpose small tiles.
# """
# numpy = "lambda A: A.sum(axis=1)"
# peak = "memory"
# small = { m = 33, n = 50 }
# ///

import tvm
from tvm import te

m, n = 1024, 1024
A = te.placeholder((m, n), name="A")
k = te.reduce_axis((0, n), name="k")
B = te.compute((m,), lambda i: te.sum(A[i, k], axis=k), name="B")

s = te.create_schedule(B.op)
f = tvm.build(s, [A, B], target="llvm", name="row_sums")
