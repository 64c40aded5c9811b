"""Softmax

Four stages: the maximum, the exponentials, their sum, and the quotient. Computed at the row loop of the last stage,
they share one pass over each row, and the exponentials are vectorised.
"""

import numpy as np
import tvm
from tvm import te

rows, columns = 256, 1024
X = te.placeholder((rows, columns), name="X")
k1 = te.reduce_axis((0, columns), name="k1")
k2 = te.reduce_axis((0, columns), name="k2")
largest = te.compute((rows,), lambda i: te.max(X[i, k1], axis=k1), name="largest")
power = te.compute((rows, columns), lambda i, j: te.exp(X[i, j] - largest[i]), name="power")
total = te.compute((rows,), lambda i: te.sum(power[i, k2], axis=k2), name="total")
Y = te.compute((rows, columns), lambda i, j: power[i, j] / total[i], name="Y")

s = te.create_schedule(Y.op)
i, j = Y.op.axis
for stage in (largest, power, total):
    s[stage].compute_at(s[Y], i)
jo, ji = s[Y].split(j, factor=16)
s[Y].vectorize(ji)
po, pi = s[power].split(power.op.axis[1], factor=16)
s[power].vectorize(pi)
s[Y].parallel(i)

softmax = tvm.build(s, [X, Y], target="llvm -mcpu=native", name="softmax")

x = np.random.default_rng(0).normal(size=(rows, columns)).astype("float32")
y = tvm.nd.empty((rows, columns), "float32")
softmax(tvm.nd.array(x), y)
print("each row sums to one:", bool(np.allclose(y.numpy().sum(axis=1), 1.0, atol=1e-5)))
