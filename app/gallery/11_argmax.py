"""Argmax: a reduction of pairs

A reduction may carry several values. This one keeps the maximum and its position, with a combiner and an
identity written by hand.
"""

import numpy as np
import tvm
from tvm import te

rows, columns = 64, 512
X = te.placeholder((rows, columns), name="X")
index = te.placeholder((rows, columns), name="index", dtype="int32")


def later(left, right):
    wins = left[1] >= right[1]
    return tvm.tir.Select(wins, left[0], right[0]), tvm.tir.Select(wins, left[1], right[1])


def nothing(index_type, value_type):
    return tvm.tir.const(-1, index_type), tvm.te.min_value(value_type)


argmax = te.comm_reducer(later, nothing, name="argmax")
k = te.reduce_axis((0, columns), name="k")
where, value = te.compute((rows,), lambda i: argmax((index[i, k], X[i, k]), axis=k), name="best")

s = te.create_schedule(where.op)
s[where].parallel(where.op.axis[0])
find = tvm.build(s, [index, X, where, value], target="llvm -mcpu=native", name="argmax")

x = np.random.default_rng(0).normal(size=(rows, columns)).astype("float32")
positions = np.tile(np.arange(columns, dtype="int32"), (rows, 1))
places = tvm.nd.empty((rows,), "int32")
largest = tvm.nd.empty((rows,), "float32")
find(tvm.nd.array(positions), tvm.nd.array(x), places, largest)
print("agrees with NumPy:", bool((places.numpy() == x.argmax(axis=1)).all()))
