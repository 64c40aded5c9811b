"""GPU: convolution with shared memory

A block computes 16 x 16 pixels of one channel. The input pixels of their windows, including a border, are fetched into
shared memory once and read nine times.
"""

import tvm
from tvm import te

size, channels = 66, 8
X = te.placeholder((size, size), name="X")
W = te.placeholder((channels, 3, 3), name="W")
dy, dx = te.reduce_axis((0, 3), name="dy"), te.reduce_axis((0, 3), name="dx")
Y = te.compute(
    (channels, size - 2, size - 2),
    lambda c, y, x: te.sum(X[y + dy, x + dx] * W[c, dy, dx], axis=[dy, dx]),
    name="Y",
)

s = te.create_schedule(Y.op)
YL = s.cache_write(Y, "local")
XS = s.cache_read(X, "shared", [YL])
ty, tx = te.thread_axis((0, 16), "threadIdx.y"), te.thread_axis((0, 16), "threadIdx.x")
c, y, x = s[Y].op.axis
(by, y), (bx, x) = s[Y].split(y, factor=16), s[Y].split(x, factor=16)
s[Y].reorder(c, by, bx, y, x)
for axis, tag in zip((c, by, bx), ("blockIdx.z", "blockIdx.y", "blockIdx.x"), strict=True):
    s[Y].bind(axis, te.thread_axis(tag))
s[Y].bind(y, ty)
s[Y].bind(x, tx)
s[YL].compute_at(s[Y], x)
s[XS].compute_at(s[Y], bx)
rows, columns = s[XS].op.axis
_, row = s[XS].split(rows, factor=16)
_, column = s[XS].split(columns, factor=16)
s[XS].bind(row, ty)
s[XS].bind(column, tx)
f = tvm.build(s, [X, W, Y], target="cuda")
