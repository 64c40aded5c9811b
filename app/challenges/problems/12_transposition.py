"""Transposition

Turn the rows of a matrix into columns.
"""
# /// challenge
# group = "Rows and columns"
# hint = """
# Either what is read or what is written leaps from row to row. A tile that fits the first cache leaps within it.
# """
# numpy = "lambda A: np.ascontiguousarray(A.T)"
# peak = "memory"
# small = { m = 33, n = 50 }
# ///

import tvm
from tvm import te

m, n = 1024, 1024
A = te.placeholder((m, n), name="A")
B = te.compute((n, m), lambda i, j: A[j, i], name="B")

s = te.create_schedule(B.op)
f = tvm.build(s, [A, B], target="llvm", name="transposition")
