"""A convolution whose padding is computed row by row, where it is used."""

import tvm
from tvm import te

size, inputs, outputs, kernel = 14, 8, 16, 3
data = te.placeholder((1, inputs, size, size), name="data")
weight = te.placeholder((outputs, inputs, kernel, kernel), name="weight")
padded = te.compute(
    (1, inputs, size + 2, size + 2),
    lambda n, c, y, x: tvm.tir.if_then_else(
        tvm.tir.all(y >= 1, y < size + 1, x >= 1, x < size + 1),
        data[n, c, y - 1, x - 1],
        tvm.tir.const(0.0, "float32"),
    ),
    name="padded",
)
rc = te.reduce_axis((0, inputs), name="rc")
ry = te.reduce_axis((0, kernel), name="ry")
rx = te.reduce_axis((0, kernel), name="rx")
conv = te.compute(
    (1, outputs, size, size),
    lambda n, o, y, x: te.sum(padded[n, rc, y + ry, x + rx] * weight[o, rc, ry, rx], axis=[rc, ry, rx]),
    name="conv",
)
s = te.create_schedule(conv.op)
s[padded].compute_at(s[conv], conv.op.axis[2])
print(tvm.lower(s, [data, weight, conv]))

s = te.create_schedule(conv.op)
s[padded].compute_inline()
print(tvm.lower(s, [data, weight, conv]))
