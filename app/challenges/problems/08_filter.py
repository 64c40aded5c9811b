"""A filter of a signal

Apply a filter of 32 numbers at each of a quarter of a million places of a signal.
"""
# /// challenge
# group = "Vectors"
# hint = """
# Keep a few vectors of results in registers: split the signal by several vectors, and move the loop over the
# filter outside them.
# """
# numpy = 'lambda x, w: np.convolve(x, w[::-1], mode="valid")'
# peak = "compute"
# small = { n = 500, taps = 7 }
# ///

import tvm
from tvm import te

n, taps = 1 << 18, 32
x = te.placeholder((n + taps - 1,), name="x")
w = te.placeholder((taps,), name="w")
k = te.reduce_axis((0, taps), name="k")
y = te.compute((n,), lambda i: te.sum(x[i + k] * w[k], axis=k), name="y")

s = te.create_schedule(y.op)
f = tvm.build(s, [x, w, y], target="llvm", name="filter")
