"""Matmul, tiled and vectorised

One definition, seven schedule primitives. Change a factor or remove a line, and watch the loops, the LLVM IR and the
assembly change. The ladder measures what each line gains.
"""

import tvm
from tvm import te

M = N = K = 1024
A = te.placeholder((M, K), name="A")
B = te.placeholder((K, N), name="B")
k = te.reduce_axis((0, K), name="k")
C = te.compute(
    (M, N),
    lambda i, j: te.sum(A[i, k] * B[k, j], axis=k),
    name="C",
)

s = te.create_schedule(C.op)
i, j = C.op.axis
io, ii = s[C].split(i, factor=32)
jo, ji = s[C].split(j, factor=32)
ko, ki = s[C].split(k, factor=4)
s[C].reorder(io, jo, ko, ii, ki, ji)
s[C].vectorize(ji)
s[C].parallel(io)
s[C].unroll(ki)

matmul = tvm.build(s, [A, B, C], target="llvm -mcpu=native", name="matmul")
