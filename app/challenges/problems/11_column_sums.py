"""Sums of columns

Add up each column of a matrix.
"""
# /// challenge
# group = "Rows and columns"
# hint = """
# As it is written, each step leaps over a row. Let the loop over columns be the inner one, and many columns be
# added at once.
# """
# numpy = "lambda A: A.sum(axis=0)"
# peak = "memory"
# small = { m = 33, n = 50 }
# ///

import tvm
from tvm import te

m, n = 1024, 1024
A = te.placeholder((m, n), name="A")
k = te.reduce_axis((0, m), name="k")
B = te.compute((n,), lambda j: te.sum(A[k, j], axis=k), name="B")

s = te.create_schedule(B.op)
f = tvm.build(s, [A, B], target="llvm", name="column_sums")
