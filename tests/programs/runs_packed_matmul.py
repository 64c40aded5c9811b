"""A matrix multiplication that packs one operand first, keeps tiles in registers and runs in parallel."""

import numpy as np
import tvm
import tvm.testing
from tvm import te

size, tile = 96, 16
A = te.placeholder((size, size), name="A")
B = te.placeholder((size, size), name="B")
packed = te.compute((size // tile, size, tile), lambda block, k, lane: B[k, block * tile + lane], name="packed")
k = te.reduce_axis((0, size), name="k")
C = te.compute(
    (size, size),
    lambda i, j: te.sum(A[i, k] * packed[j // tile, k, tvm.tir.indexmod(j, tile)], axis=k),
    name="C",
)
s = te.create_schedule(C.op)
local = s.cache_write(C, "global")
io, jo, ii, ji = s[C].tile(C.op.axis[0], C.op.axis[1], tile, tile)
s[local].compute_at(s[C], jo)
li, lj = s[local].op.axis
(reduction,) = s[local].op.reduce_axis
ko, ki = s[local].split(reduction, factor=4)
s[local].reorder(ko, li, ki, lj)
s[local].vectorize(lj)
s[local].unroll(ki)
s[C].parallel(io)
block, _, lane = s[packed].op.axis
s[packed].vectorize(lane)
s[packed].parallel(block)

multiply = tvm.build(s, [A, B, C], target="llvm", name="multiply")
dev = tvm.cpu(0)
a = tvm.nd.array(np.random.rand(size, size).astype("float32"), dev)
b = tvm.nd.array(np.random.rand(size, size).astype("float32"), dev)
c = tvm.nd.array(np.zeros((size, size), dtype="float32"), dev)
multiply(a, b, c)
tvm.testing.assert_allclose(c.numpy(), a.numpy() @ b.numpy(), rtol=1e-5)
print("agrees with NumPy")
print("vector instructions:", "fmul" in multiply.get_source("ll") and "x float>" in multiply.get_source("ll"))
