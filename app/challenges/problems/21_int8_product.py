"""Product of bytes

Multiply matrices of bytes, and add up in 32 bits, as quantised networks do.
"""
# /// challenge
# group = "Products"
# hint = """
# The processor may add four products of bytes in one instruction: split k by four, and keep those four innermost.
# The assembly says whether it was found.
# """
# numpy = "lambda A, B: A.astype(np.int32) @ B.astype(np.int32).T"
# peak = ""
# small = { m = 13, n = 17, depth = 40 }
# ///

import tvm
from tvm import te

m, n, depth = 256, 256, 512
A = te.placeholder((m, depth), name="A", dtype="uint8")
B = te.placeholder((n, depth), name="B", dtype="int8")
k = te.reduce_axis((0, depth), name="k")
C = te.compute((m, n), lambda i, j: te.sum(A[i, k].astype("int32") * B[j, k].astype("int32"), axis=k), name="C")

s = te.create_schedule(C.op)
f = tvm.build(s, [A, B, C], target="llvm", name="int8_product")
