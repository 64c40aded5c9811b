"""A reduction of pairs."""

import tvm
from tvm import te


def combine(x, y):
    index = tvm.tir.Select(x[1] >= y[1], x[0], y[0])
    value = tvm.tir.Select(x[1] >= y[1], x[1], y[1])
    return index, value


def identity(index, value):
    return tvm.tir.const(-1, index), te.min_value(value)


argmax = te.comm_reducer(combine, identity, name="argmax")
m, n = 8, 32
index = te.placeholder((m, n), name="index", dtype="int32")
value = te.placeholder((m, n), name="value")
k = te.reduce_axis((0, n), name="k")
best = te.compute((m,), lambda i: argmax((index[i, k], value[i, k]), axis=k), name="best")
s = te.create_schedule(best[0].op)
print(tvm.lower(s, [index, value, *best]))
