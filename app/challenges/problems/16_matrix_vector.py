"""Matrix times vector

Multiply a matrix by a vector: each number of the matrix is used once.
"""
# /// challenge
# group = "Products"
# hint = """
# Several rows at once share what is read of the vector, and are independent sums; rfactor makes vectors of them.
# """
# numpy = "lambda A, x: A @ x"
# peak = "memory"
# small = { m = 33, n = 50 }
# ///

import tvm
from tvm import te

m, n = 1024, 1024
A = te.placeholder((m, n), name="A")
x = te.placeholder((n,), name="x")
k = te.reduce_axis((0, n), name="k")
y = te.compute((m,), lambda i: te.sum(A[i, k] * x[k], axis=k), name="y")

s = te.create_schedule(y.op)
f = tvm.build(s, [A, x, y], target="llvm", name="matrix_vector")
