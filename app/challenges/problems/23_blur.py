"""A blur in two steps

The mean of three neighbours across, then of three down.
"""
# /// challenge
# group = "Images"
# hint = """
# Between all of the first step and all of the second, the image leaves the cache. compute_at brings them
# together, by rows or by tiles.
# """
# numpy = "lambda X: (lambda a: (a[:-2] + a[1:-1] + a[2:]) / 3)((X[:, :-2] + X[:, 1:-1] + X[:, 2:]) / 3)"
# peak = "memory"
# small = { h = 21, w = 50 }
# ///

import tvm
from tvm import te

h, w = 1024, 1024
X = te.placeholder((h + 2, w + 2), name="X")
across = te.compute((h + 2, w), lambda y, x: (X[y, x] + X[y, x + 1] + X[y, x + 2]) / 3.0, name="across")
Y = te.compute((h, w), lambda y, x: (across[y, x] + across[y + 1, x] + across[y + 2, x]) / 3.0, name="Y")

s = te.create_schedule(Y.op)
f = tvm.build(s, [X, Y], target="llvm", name="blur")
