"""Built for any length, called with several, measured."""

import numpy as np
import tvm
from tvm import te

target = tvm.target.Target("llvm")
n = te.var("n")
A = te.placeholder((n,), name="A")
B = te.placeholder((n,), name="B")
C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")
s = te.create_schedule(C.op)
outer, inner = s[C].split(C.op.axis[0], factor=16)
s[C].vectorize(inner)
add = tvm.build(s, [A, B, C], target, name="add")
dev = tvm.device(target.kind.name, 0)

for length in (1, 15, 16, 1000):
    a = tvm.nd.array(np.random.uniform(size=length).astype(A.dtype), dev)
    b = tvm.nd.array(np.random.uniform(size=length).astype(B.dtype), dev)
    c = tvm.nd.array(np.zeros(length, dtype=C.dtype), dev)
    add(a, b, c)
    print(length, np.array_equal(c.numpy(), a.numpy() + b.numpy()))

evaluator = add.time_evaluator(add.entry_name, dev, number=2, repeat=3)
result = evaluator(a, b, c)
print(len(result.results), result.mean > 0)
