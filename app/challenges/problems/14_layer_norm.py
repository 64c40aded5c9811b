"""Layer normalisation

Subtract its mean from each row of a matrix, and divide by the standard deviation.
"""
# /// challenge
# group = "Rows and columns"
# hint = """
# Three passes over each row: with compute_at they follow each other row by row. The sums want rfactor, the last
# pass a vector.
# """
# numpy = '''
# lambda X: (lambda d: d / np.sqrt((d * d).mean(axis=1, keepdims=True) + np.float32(1e-5)))(X - X.mean(axis=1,
# keepdims=True))
# '''
# peak = "memory"
# small = { m = 13, n = 50 }
# ///

import tvm
from tvm import te

m, n = 512, 768
X = te.placeholder((m, n), name="X")
k = te.reduce_axis((0, n), name="k")
total = te.compute((m,), lambda i: te.sum(X[i, k], axis=k), name="total")
D = te.compute((m, n), lambda i, j: X[i, j] - total[i] / n, name="D")
k2 = te.reduce_axis((0, n), name="k2")
squares = te.compute((m,), lambda i: te.sum(D[i, k2] * D[i, k2], axis=k2), name="squares")
Y = te.compute((m, n), lambda i, j: D[i, j] / te.sqrt(squares[i] / n + 1e-5), name="Y")

s = te.create_schedule(Y.op)
f = tvm.build(s, [X, Y], target="llvm", name="layer_norm")
