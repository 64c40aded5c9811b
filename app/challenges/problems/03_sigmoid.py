"""The sigmoid function

One divided by one plus the exponential of each of a million numbers.
"""
# /// challenge
# group = "Vectors"
# hint = """
# A vectorised loop calls a vector's exponential. Look at the assembly: is there still a call for every number?
# """
# numpy = "lambda x: 1 / (1 + np.exp(-x))"
# peak = ""
# small = { n = 999 }
# ///

import tvm
from tvm import te

n = 1 << 20
x = te.placeholder((n,), name="x")
y = te.compute((n,), lambda i: te.sigmoid(x[i]), name="y")

s = te.create_schedule(y.op)
f = tvm.build(s, [x, y], target="llvm", name="sigmoid")
