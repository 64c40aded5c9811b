"""Partial sums: rfactor

A sum is a chain of dependent additions: each waits for the one before. rfactor splits the reduction into independent
partial sums, which can be vectorised and run on several cores.
"""

import tvm
from tvm import te

n = 1 << 20
A = te.placeholder((n,), name="A")
k = te.reduce_axis((0, n), name="k")
total = te.compute((1,), lambda _: te.sum(A[k], axis=k), name="total")

s = te.create_schedule(total.op)
ko, ki = s[total].split(k, factor=64)
partial = s.rfactor(total, ki)
lane = partial.op.axis[0]
s[partial].reorder(partial.op.reduce_axis[0], lane)
s[partial].vectorize(lane)

reduce = tvm.build(s, [A, total], target="llvm -mcpu=native", name="sum")
