"""Pointwise convolution

Mix 64 channels of 28 by 28 numbers into 128: a matrix product in disguise.
"""
# /// challenge
# group = "Images"
# hint = """
# Fuse y and x: what is left is a product of matrices, 128 by 784, whose vectors lie along the fused loop.
# """
# numpy = "lambda X, W: np.tensordot(W, X, axes=1)"
# peak = "compute"
# small = { channels = 3, filters = 5, n = 11 }
# ///

import tvm
from tvm import te

channels, filters, n = 64, 128, 28
X = te.placeholder((channels, n, n), name="X")
W = te.placeholder((filters, channels), name="W")
c = te.reduce_axis((0, channels), name="c")
Y = te.compute((filters, n, n), lambda o, y, x: te.sum(X[c, y, x] * W[o, c], axis=c), name="Y")

s = te.create_schedule(Y.op)
f = tvm.build(s, [X, W, Y], target="llvm", name="pointwise")
