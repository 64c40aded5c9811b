"""Tiled, reordered, vectorized, parallel and unrolled."""

import tvm
from tvm import te

size = 1024
A = te.placeholder((size, size), name="A")
B = te.placeholder((size, size), name="B")
k = te.reduce_axis((0, size), name="k")
C = te.compute((size, size), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

s = te.create_schedule(C.op)
i, j = C.op.axis
io, ii = s[C].split(i, factor=32)
jo, ji = s[C].split(j, factor=32)
ko, ki = s[C].split(C.op.reduce_axis[0], factor=4)
s[C].reorder(io, jo, ko, ii, ji, ki)
outer, inner = s[C].split(ji, factor=8)
s[C].vectorize(inner)
s[C].parallel(io)
s[C].unroll(ki)
print(tvm.lower(s, [A, B, C]))
