"""GPU: softmax, one block per row

The threads of a block compute the maximum and the sum of a row together and keep them in shared memory, all in one
kernel.
"""

import tvm
from tvm import te

n, m = 256, 512
X = te.placeholder((n, m), name="X")
k1, k2 = te.reduce_axis((0, m), name="k1"), te.reduce_axis((0, m), name="k2")
largest = te.compute((n,), lambda i: te.max(X[i, k1], axis=k1), name="largest")
E = te.compute((n, m), lambda i, j: te.exp(X[i, j] - largest[i]), name="E")
total = te.compute((n,), lambda i: te.sum(E[i, k2], axis=k2), name="total")
Y = te.compute((n, m), lambda i, j: E[i, j] / total[i], name="Y")

s = te.create_schedule(Y.op)
thread = te.thread_axis((0, 64), "threadIdx.x")
s[E].compute_inline()
row, column = s[Y].op.axis
s[Y].bind(row, te.thread_axis("blockIdx.x"))
_, x = s[Y].split(column, factor=64)
s[Y].bind(x, thread)
for stage in (largest, total):
    s[stage].set_scope("shared")
    s[stage].compute_at(s[Y], row)
    _, x = s[stage].split(s[stage].op.reduce_axis[0], factor=64)
    s[stage].bind(x, thread)
f = tvm.build(s, [X, Y], target="cuda")
