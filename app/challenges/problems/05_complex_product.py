"""Products of complex numbers

Multiply half a million pairs of complex numbers, whose parts lie side by side.
"""
# /// challenge
# group = "Vectors"
# hint = """
# The inner loop has two rounds that differ: unroll it, and vectorise over the numbers.
# """
# numpy = "lambda A, B: (A.view(np.complex64) * B.view(np.complex64)).view(np.float32)"
# peak = "memory"
# small = { n = 333 }
# ///

import tvm
from tvm import te

n = 1 << 19
A = te.placeholder((n, 2), name="A")
B = te.placeholder((n, 2), name="B")
C = te.compute(
    (n, 2),
    lambda i, part: te.if_then_else(
        part == 0, A[i, 0] * B[i, 0] - A[i, 1] * B[i, 1], A[i, 0] * B[i, 1] + A[i, 1] * B[i, 0]
    ),
    name="C",
)

s = te.create_schedule(C.op)
f = tvm.build(s, [A, B, C], target="llvm", name="complex_product")
