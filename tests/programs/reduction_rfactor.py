"""A sum whose partial sums become a dimension of their own."""

import tvm
from tvm import te

n = 4096
A = te.placeholder((n,), name="A")
k = te.reduce_axis((0, n), name="k")
B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
s = te.create_schedule(B.op)
outer, inner = s[B].split(B.op.reduce_axis[0], factor=16)
partial = s.rfactor(B, inner)
s[partial].vectorize(s[partial].op.axis[0])
print(tvm.lower(s, [A, B]))
