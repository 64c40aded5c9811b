"""Edges of an image

How strongly an image changes at each place: Sobel's operator.
"""
# /// challenge
# group = "Images"
# hint = """
# Inline what is used once. Then each row of results reads three rows: vectors along x, and a few rows at a time.
# """
# numpy = '''
# lambda X: (lambda a, b: np.sqrt(a * a + b * b))(X[:-2, 2:] + 2 * X[1:-1, 2:] + X[2:, 2:] - X[:-2, :-2] - 2 *
# X[1:-1, :-2] - X[2:, :-2], X[2:, :-2] + 2 * X[2:, 1:-1] + X[2:, 2:] - X[:-2, :-2] - 2 * X[:-2, 1:-1] - X[:-2,
# 2:])
# '''
# peak = "memory"
# small = { h = 21, w = 50 }
# ///

import tvm
from tvm import te

h, w = 512, 1024
X = te.placeholder((h + 2, w + 2), name="X")
right = te.compute((h + 2, w), lambda y, x: X[y, x + 2] - X[y, x], name="right")
down = te.compute((h, w + 2), lambda y, x: X[y + 2, x] - X[y, x], name="down")
gx = te.compute((h, w), lambda y, x: right[y, x] + 2.0 * right[y + 1, x] + right[y + 2, x], name="gx")
gy = te.compute((h, w), lambda y, x: down[y, x] + 2.0 * down[y, x + 1] + down[y, x + 2], name="gy")
Y = te.compute((h, w), lambda y, x: te.sqrt(gx[y, x] * gx[y, x] + gy[y, x] * gy[y, x]), name="Y")

s = te.create_schedule(Y.op)
f = tvm.build(s, [X, Y], target="llvm", name="edges")
