"""Softmax

The softmax of each row of a matrix: exponentials that add up to one.
"""
# /// challenge
# group = "Rows and columns"
# hint = """
# compute_at brings the stages of a row together, so that the row stays in the cache; then the exponential wants
# vectors.
# """
# numpy = "lambda X: (lambda e: e / e.sum(axis=1, keepdims=True))(np.exp(X - X.max(axis=1, keepdims=True)))"
# peak = ""
# small = { m = 13, n = 50 }
# ///

import tvm
from tvm import te

m, n = 512, 1024
X = te.placeholder((m, n), name="X")
k = te.reduce_axis((0, n), name="k")
top = te.compute((m,), lambda i: te.max(X[i, k], axis=k), name="top")
E = te.compute((m, n), lambda i, j: te.exp(X[i, j] - top[i]), name="E")
k2 = te.reduce_axis((0, n), name="k2")
total = te.compute((m,), lambda i: te.sum(E[i, k2], axis=k2), name="total")
Y = te.compute((m, n), lambda i, j: E[i, j] / total[i], name="Y")

s = te.create_schedule(Y.op)
f = tvm.build(s, [X, Y], target="llvm", name="softmax")
