"""The loop notation, for schedules that grow step by step."""

import tvm
from tvm import te

size = 16
A = te.placeholder((size, size), name="A")
B = te.placeholder((size, size), name="B")
k = te.reduce_axis((0, size), name="k")
C = te.compute((size, size), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
D = te.compute((size, size), lambda i, j: te.max(C[i, j], 0.0), name="D")


def show(title, s):
    print(f"== {title}")
    print(tvm.lower(s, [A, B, D], simple_mode=True))


show("as it is", te.create_schedule(D.op))

s = te.create_schedule(D.op)
outer, inner = s[C].split(C.op.axis[0], factor=5)
show("a split that does not divide", s)

s = te.create_schedule(D.op)
s[C].compute_at(s[D], D.op.axis[1])
s[D].parallel(D.op.axis[0])
show("each element where it is used, rows in parallel", s)

s = te.create_schedule(D.op)
io, jo, ii, ji = s[D].tile(*D.op.axis, 8, 8)
s[D].vectorize(ji)
s[C].compute_at(s[D], jo)
ko, ki = s[C].split(C.op.reduce_axis[0], factor=2)
s[C].reorder(ko, *C.op.axis, ki)
s[C].unroll(ki)
show("tiles", s)
