"""A symbolic shape

The length is a variable. As the split factor may not divide it, the loop IR has a guard; find it, and see what happens
to it if the factor is one.
"""

import numpy as np
import tvm
from tvm import te

n = te.var("n")
A = te.placeholder((n,), name="A")
B = te.compute((n,), lambda i: te.sqrt(A[i]) + 1.0, name="B")

s = te.create_schedule(B.op)
outer, inner = s[B].split(B.op.axis[0], factor=8)
s[B].vectorize(inner)

root = tvm.build(s, [A, B], target="llvm -mcpu=native", name="root")
for length in (1, 7, 64, 1000):
    a = tvm.nd.array(np.arange(length, dtype="float32"))
    b = tvm.nd.empty((length,), "float32")
    root(a, b)
    np.testing.assert_allclose(b.numpy(), np.sqrt(a.numpy()) + 1.0, rtol=1e-6)
print("every length is right")
