"""Running means

The mean of each number of a matrix with the seven that follow in its row.
"""
# /// challenge
# group = "Rows and columns"
# hint = """
# Neighbouring results share most of what they read. Unroll the loop over the eight, and vectorise along the row.
# """
# numpy = "lambda X: np.lib.stride_tricks.sliding_window_view(X, 8, axis=1).mean(axis=2)"
# peak = "memory"
# small = { m = 13, n = 50 }
# ///

import tvm
from tvm import te

m, n = 512, 1024
X = te.placeholder((m, n + 7), name="X")
k = te.reduce_axis((0, 8), name="k")
total = te.compute((m, n), lambda i, j: te.sum(X[i, j + k], axis=k), name="total")
Y = te.compute((m, n), lambda i, j: total[i, j] * 0.125, name="Y")

s = te.create_schedule(Y.op)
f = tvm.build(s, [X, Y], target="llvm", name="running_mean")
