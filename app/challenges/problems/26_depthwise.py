"""Depthwise convolution

Apply one filter of 3 by 3 to each of 64 channels of 56 by 56.
"""
# /// challenge
# group = "Images"
# hint = """
# Little is computed for what is read. The nine rounds of the filter unrolled leave a vector along x that stays in
# registers.
# """
# numpy = '''
# lambda X, W: np.einsum("chwij,cij->chw", np.lib.stride_tricks.sliding_window_view(X, (3, 3), axis=(1, 2)), W)
# '''
# peak = "compute"
# small = { channels = 3, n = 11 }
# ///

import tvm
from tvm import te

channels, n = 64, 56
X = te.placeholder((channels, n + 2, n + 2), name="X")
W = te.placeholder((channels, 3, 3), name="W")
i = te.reduce_axis((0, 3), name="i")
j = te.reduce_axis((0, 3), name="j")
Y = te.compute((channels, n, n), lambda c, y, x: te.sum(X[c, y + i, x + j] * W[c, i, j], axis=[i, j]), name="Y")

s = te.create_schedule(Y.op)
f = tvm.build(s, [X, W, Y], target="llvm", name="depthwise")
