"""Vector addition

Add two vectors of four million numbers: there is one addition for every twelve bytes that move.
"""
# /// challenge
# group = "Vectors"
# hint = """
# Vectorise the loop, then ask what limits it: the roofline in the Benchmark pane says how far memory is away.
# """
# numpy = "lambda A, B: A + B"
# peak = "memory"
# small = { n = 1000 }
# ///

import tvm
from tvm import te

n = 1 << 22
A = te.placeholder((n,), name="A")
B = te.placeholder((n,), name="B")
C = te.compute((n,), lambda i: A[i] + B[i], name="C")

s = te.create_schedule(C.op)
f = tvm.build(s, [A, B, C], target="llvm", name="vector_addition")
