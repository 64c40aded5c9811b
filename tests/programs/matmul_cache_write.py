"""A tile of the result is kept in a local buffer; a tile of an operand is copied before it is used."""

import tvm
from tvm import te

size = 128
A = te.placeholder((size, size), name="A")
B = te.placeholder((size, size), name="B")
k = te.reduce_axis((0, size), name="k")
C = te.compute((size, size), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

s = te.create_schedule(C.op)
local = s.cache_write(C, "local")
copy = s.cache_read(A, "global", [local])
io, jo, ii, ji = s[C].tile(*s[C].op.axis, x_factor=16, y_factor=32)
s[local].compute_at(s[C], jo)
li, lj = s[local].op.axis
ko, ki = s[local].split(s[local].op.reduce_axis[0], factor=8)
s[local].reorder(ko, li, ki, lj)
s[local].vectorize(lj)
s[local].unroll(ki)
s[copy].compute_at(s[local], ko)
s[C].vectorize(ji)
s[C].parallel(io)
print(tvm.lower(s, [A, B, C]))
