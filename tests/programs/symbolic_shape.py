"""Extents that are known only when the function is called."""

import tvm
from tvm import te

n = te.var("n")
m = te.var("m")
A = te.placeholder((n, m), name="A")
B = te.placeholder((n, m), name="B")
C = te.compute((n, m), lambda i, j: A[i, j] + B[i, j], name="C")
s = te.create_schedule(C.op)
fused = s[C].fuse(*C.op.axis)
outer, inner = s[C].split(fused, factor=64)
s[C].parallel(outer)
print(tvm.lower(s, [A, B, C]))
