"""Pooling

The largest of each 2 by 2 numbers, for 64 channels of 56 by 56.
"""
# /// challenge
# group = "Images"
# hint = """
# Results lie side by side, what they read lies two apart. Unroll the four, vectorise along x, and look at what
# the loads become.
# """
# numpy = "lambda X: X.reshape(X.shape[0], X.shape[1] // 2, 2, X.shape[2] // 2, 2).max(axis=(2, 4))"
# peak = "memory"
# small = { channels = 3, n = 5 }
# ///

import tvm
from tvm import te

channels, n = 64, 28
X = te.placeholder((channels, 2 * n, 2 * n), name="X")
i = te.reduce_axis((0, 2), name="i")
j = te.reduce_axis((0, 2), name="j")
Y = te.compute((channels, n, n), lambda c, y, x: te.max(X[c, 2 * y + i, 2 * x + j], axis=[i, j]), name="Y")

s = te.create_schedule(Y.op)
f = tvm.build(s, [X, Y], target="llvm", name="max_pooling")
