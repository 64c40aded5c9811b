"""Integers of several widths, casts, divisions and comparisons."""

import tvm
from tvm import te

n = 32
A = te.placeholder((n,), name="A", dtype="int8")
B = te.placeholder((n,), name="B", dtype="uint8")
k = te.reduce_axis((0, n), name="k")
dot = te.compute((1,), lambda i: te.sum(A[k].astype("int32") * B[k].astype("int32"), axis=k), name="dot")
s = te.create_schedule(dot.op)
print(tvm.lower(s, [A, B, dot]))

X = te.placeholder((n,), name="X", dtype="int64")
Y = te.compute((n,), lambda i: tvm.tir.truncdiv(X[i], 3) + tvm.tir.floormod(X[i], 5), name="Y")
Z = te.compute(
    (n,), lambda i: tvm.tir.Select(Y[i] > 7, Y[i].astype("float64"), tvm.tir.const(0.1, "float64")), name="Z"
)
s = te.create_schedule(Z.op)
print(tvm.lower(s, [X, Z]))
