"""Convolution with padding

Padding is a stage of its own that reads zeros outside of the image. Inlined, it becomes a condition; computed at a
loop of the convolution, it becomes a small buffer that stays in cache. Try both.
"""

import tvm
from tvm import te

channels, filters, size, kernel = 16, 32, 56, 3
image = te.placeholder((channels, size, size), name="image")
weight = te.placeholder((filters, channels, kernel, kernel), name="weight")

padded = te.compute(
    (channels, size + 2, size + 2),
    lambda c, y, x: te.if_then_else(
        te.all(y >= 1, y < size + 1, x >= 1, x < size + 1),
        image[c, y - 1, x - 1],
        tvm.tir.const(0.0, "float32"),
    ),
    name="padded",
)
rc = te.reduce_axis((0, channels), name="rc")
ry = te.reduce_axis((0, kernel), name="ry")
rx = te.reduce_axis((0, kernel), name="rx")
conv = te.compute(
    (filters, size, size),
    lambda f, y, x: te.sum(padded[rc, y + ry, x + rx] * weight[f, rc, ry, rx], axis=[rc, ry, rx]),
    name="conv",
)

s = te.create_schedule(conv.op)
f, y, x = conv.op.axis
xo, xi = s[conv].split(x, factor=8)
s[conv].reorder(f, y, xo, rc, ry, rx, xi)
s[conv].vectorize(xi)
s[conv].parallel(f)
s[padded].parallel(padded.op.axis[0])

conv2d = tvm.build(s, [image, weight, conv], target="llvm -mcpu=native", name="conv2d")
