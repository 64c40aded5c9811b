"""8-bit dot products

Products of 8-bit integers accumulated in 32 bits, as quantised networks need them. The casts are part of the
definition; the assembly of each target shows whether the processor has an instruction for them.
"""

import tvm
from tvm import te

M, N, K = 64, 64, 256
A = te.placeholder((M, K), name="A", dtype="uint8")
B = te.placeholder((N, K), name="B", dtype="int8")
k = te.reduce_axis((0, K), name="k")
C = te.compute(
    (M, N),
    lambda i, j: te.sum(A[i, k].astype("int32") * B[j, k].astype("int32"), axis=k),
    name="C",
)

s = te.create_schedule(C.op)
i, j = C.op.axis
ko, ki = s[C].split(k, factor=4)
jo, ji = s[C].split(j, factor=16)
s[C].reorder(i, jo, ko, ji, ki)
s[C].unroll(ki)
s[C].vectorize(ji)

dot = tvm.build(s, [A, B, C], target="llvm -mcpu=native", name="dot")
