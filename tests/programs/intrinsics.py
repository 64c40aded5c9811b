"""Functions of mathematics and selections."""

import tvm
from tvm import te

n = 16
A = te.placeholder((n,), name="A")
sigmoid = te.compute((n,), lambda i: te.sigmoid(A[i]) + te.tanh(A[i]), name="sigmoid")
clipped = te.compute((n,), lambda i: te.max(te.min(sigmoid[i], 1.5), 0.25), name="clipped")
chosen = te.compute(
    (n,), lambda i: te.if_then_else(i < 8, te.sqrt(te.abs(clipped[i])), te.power(A[i], 3.0)), name="chosen"
)
s = te.create_schedule(chosen.op)
s[sigmoid].compute_inline()
outer, inner = s[chosen].split(chosen.op.axis[0], factor=4)
s[chosen].vectorize(inner)
print(tvm.lower(s, [A, chosen]))
