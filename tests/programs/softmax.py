"""Several stages, one of them inlined, one computed where it is used."""

import tvm
from tvm import te

m, n = 16, 64
A = te.placeholder((m, n), name="A")
k = te.reduce_axis((0, n), name="k")
largest = te.compute((m,), lambda i: te.max(A[i, k], axis=k), name="largest")
shifted = te.compute((m, n), lambda i, j: A[i, j] - largest[i], name="shifted")
power = te.compute((m, n), lambda i, j: te.exp(shifted[i, j]), name="power")
r = te.reduce_axis((0, n), name="r")
total = te.compute((m,), lambda i: te.sum(power[i, r], axis=r), name="total")
result = te.compute((m, n), lambda i, j: power[i, j] / total[i], name="result")
s = te.create_schedule(result.op)
s[shifted].compute_inline()
for stage in (largest, power, total):
    s[stage].compute_at(s[result], result.op.axis[0])
print(tvm.lower(s, [A, result]))
