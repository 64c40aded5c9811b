"""Vector add

The smallest program: one loop, split so that the inner loop becomes vector instructions and the outer one runs on
several cores.
"""

import numpy as np
import tvm
from tvm import te

n = 1 << 20
A = te.placeholder((n,), name="A")
B = te.placeholder((n,), name="B")
C = te.compute((n,), lambda i: A[i] + B[i], name="C")

s = te.create_schedule(C.op)
outer, inner = s[C].split(C.op.axis[0], factor=16)
s[C].vectorize(inner)
s[C].parallel(outer)

add = tvm.build(s, [A, B, C], target="llvm -mcpu=native", name="add")

a = tvm.nd.array(np.arange(n, dtype="float32"))
b = tvm.nd.array(np.ones(n, dtype="float32"))
c = tvm.nd.empty((n,), "float32")
add(a, b, c)
np.testing.assert_array_equal(c.numpy(), a.numpy() + b.numpy())
print("the first sums:", c.numpy()[:4])
