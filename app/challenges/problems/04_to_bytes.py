"""Numbers to bytes

Scale a million numbers between 0 and 1 to bytes from 0 to 255, rounded and clipped.
"""
# /// challenge
# group = "Vectors"
# hint = """
# Four vectors of numbers make one of bytes: vectorise by as many bytes as a register has, not by as many numbers.
# """
# numpy = "lambda x: np.clip(np.floor(x * np.float32(255) + np.float32(0.5)), 0, 255).astype(np.uint8)"
# peak = "memory"
# small = { n = 999 }
# ///

import tvm
from tvm import te

n = 1 << 20
x = te.placeholder((n,), name="x")
y = te.compute((n,), lambda i: te.max(te.min(te.floor(x[i] * 255.0 + 0.5), 255.0), 0.0).astype("uint8"), name="y")

s = te.create_schedule(y.op)
f = tvm.build(s, [x, y], target="llvm", name="to_bytes")
