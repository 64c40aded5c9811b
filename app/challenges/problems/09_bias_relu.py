"""Bias and ReLU

Add a number to each column of a matrix, and replace what is negative by zero.
"""
# /// challenge
# group = "Rows and columns"
# hint = """
# NumPy passes over the matrix twice. Here one pass does both: make it a vectorised one.
# """
# numpy = "lambda X, b: np.maximum(X + b, 0)"
# peak = "memory"
# small = { m = 33, n = 50 }
# ///

import tvm
from tvm import te

m, n = 1024, 1024
X = te.placeholder((m, n), name="X")
b = te.placeholder((n,), name="b")
Y = te.compute((m, n), lambda i, j: te.max(X[i, j] + b[j], 0.0), name="Y")

s = te.create_schedule(Y.op)
f = tvm.build(s, [X, b, Y], target="llvm", name="bias_relu")
