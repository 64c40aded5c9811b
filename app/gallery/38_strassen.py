"""Fewer products: Strassen's algorithm

Two matrices are cut into quarters, and seven products of sums of quarters make the eight that their product needs. The
seven are added up block by block, while a block of each is in the second cache. Compare what the sums cost, and how far
the result is from that of the definition: floats are rounded otherwise.
"""

import numpy as np
import tvm
from tvm import te, tir

n = 512
A = te.placeholder((n, n), name="A")
B = te.placeholder((n, n), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

sch = tir.Schedule(te.create_prim_func([A, B, C]))
block = sch.get_block("C")
sch.strassen(block)

# What vectors of 16 read stands together: four of them in a panel.
sch.transform_layout(block, ("read", 1), lambda p, k, j: [p, j // 64, k, j % 64])
written = sch.cache_write(block, 0, "global")

# All seven products of a block of 32 rows and 128 columns, in tiles of 4 rows and 64 columns.
p, i, j, k = sch.get_loops(block)
i_block, i_tile, row = sch.split(i, factors=[None, 8, 4])
j_block, j_tile, column = sch.split(j, factors=[None, 2, 64])
vector, lane = sch.split(column, factors=[None, 16])
sch.reorder(i_block, j_block, p, j_tile, i_tile, k, row, vector, lane)
sch.reverse_compute_at(written, i_tile)
sch.reverse_compute_at(sch.get_block("C_result"), j_block)
sch.compute_at(sch.get_block("A_left"), i_block)
sch.unroll(row)
sch.unroll(vector)
sch.vectorize(lane)
sch.decompose_reduction(block, k)

# Vectors of all quarters of the result are sums of the same products.
*_, rows, columns, u, v = sch.get_loops(sch.get_block("C_result"))
outer, lanes = sch.split(columns, factors=[None, 16])
sch.reorder(rows, outer, u, v, lanes)
sch.unroll(u)
sch.unroll(v)
sch.vectorize(lanes)
for name in ("A_left", "B_right", "C_products_global"):
    last = sch.get_loops(sch.get_block(name))[-1]
    sch.vectorize(sch.split(last, factors=[None, 16])[1])

f = tvm.build(sch.mod, target="llvm -mcpu=native")

a, b = (np.random.default_rng(seed).standard_normal((n, n)).astype("float32") for seed in (0, 1))
c = tvm.nd.array(np.zeros((n, n), "float32"))
f(tvm.nd.array(a), tvm.nd.array(b), c)
exact = a.astype("float64") @ b
print("largest errors: by quarters", abs(c.numpy() - exact).max(), "- NumPy", abs(a @ b - exact).max())
