"""Convolution with a tail

Apply 48 filters of 3 by 3 to 24 channels of 57 by 57 numbers, with a border of zeros: nothing divides 57.
"""
# /// challenge
# group = "Images"
# hint = """
# Tile channels of the output by several rows of vectors. The padding is a stage of its own: compute it where it
# is used, or inline it and watch for guards.
# """
# numpy = '''
# lambda X, W: np.einsum("chwij,ocij->ohw", np.lib.stride_tricks.sliding_window_view(np.pad(X, ((0, 0), (1, 1),
# (1, 1))), (3, 3), axis=(1, 2)), W, optimize=True)
# '''
# peak = "compute"
# small = { channels = 3, filters = 5, n = 11 }
# ///

import tvm
from tvm import te

channels, filters, n = 24, 48, 57
X = te.placeholder((channels, n, n), name="X")
W = te.placeholder((filters, channels, 3, 3), name="W")
P = te.compute(
    (channels, n + 2, n + 2),
    lambda c, y, x: te.if_then_else(te.all(y >= 1, y <= n, x >= 1, x <= n), X[c, y - 1, x - 1], 0.0),
    name="P",
)
c = te.reduce_axis((0, channels), name="c")
i = te.reduce_axis((0, 3), name="i")
j = te.reduce_axis((0, 3), name="j")
Y = te.compute((filters, n, n), lambda o, y, x: te.sum(P[c, y + i, x + j] * W[o, c, i, j], axis=[c, i, j]), name="Y")

s = te.create_schedule(Y.op)
f = tvm.build(s, [X, W, Y], target="llvm", name="conv2d_with_tail")
