"""An operator in C

The same schedules compiled to plain C that needs only the standard headers, for a microcontroller or for reading: the
function takes pointers and can be called from anywhere.
"""

import tvm
from tvm import te

n, m = 16, 32
X = te.placeholder((m,), name="X")
W = te.placeholder((n, m), name="W")
k = te.reduce_axis((0, m), name="k")
S = te.compute((n,), lambda i: te.sum(W[i, k] * X[k], axis=k), name="S")
Y = te.compute((n,), lambda i: te.max(S[i], 0.0), name="Y")

s = te.create_schedule(Y.op)
s[S].compute_at(s[Y], Y.op.axis[0])
f = tvm.build(s, [X, W, Y], target="c", name="dense_relu")
print(f.get_source())
