"""A polynomial

Evaluate a polynomial of degree five for a million numbers, by Horner's rule.
"""
# /// challenge
# group = "Vectors"
# hint = """
# Each step of Horner's rule waits for the one before. Several vectors at once hide that wait: split twice,
# vectorise the innermost loop and unroll the next.
# """
# numpy = "lambda x: ((((0.5 * x - 1.5) * x + 2.0) * x - 0.25) * x + 1.25) * x - 0.75"
# peak = "compute"
# small = { n = 999 }
# ///

import tvm
from tvm import te

n = 1 << 20
x = te.placeholder((n,), name="x")
y = te.compute(
    (n,), lambda i: ((((0.5 * x[i] - 1.5) * x[i] + 2.0) * x[i] - 0.25) * x[i] + 1.25) * x[i] - 0.75, name="y"
)

s = te.create_schedule(y.op)
f = tvm.build(s, [x, y], target="llvm", name="polynomial")
