"""A factor that does not divide the extent: with a guard, and with the loop partitioned."""

import tvm
from tvm import te

n = 100
A = te.placeholder((n,), name="A")
B = te.compute((n,), lambda i: A[i] * A[i], name="B")
s = te.create_schedule(B.op)
outer, inner = s[B].split(B.op.axis[0], factor=16)
print(tvm.lower(s, [A, B]))

s = te.create_schedule(B.op)
outer, inner = s[B].split(B.op.axis[0], nparts=3)
print(tvm.lower(s, [A, B], simple_mode=True))
