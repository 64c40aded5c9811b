"""Matmul, packed and register-tiled

What the fast libraries do: B is copied once into panels as wide as a register tile, and a tile of C stays in vector
registers while k runs. Six rows of sixty-four columns are twenty-four accumulators of 512 bits.
"""

import tvm
from tvm import te

M = N = K = 1024
ROWS, COLUMNS = 6, 64

A = te.placeholder((M, K), name="A")
B = te.placeholder((K, N), name="B")
packed = te.compute((N // COLUMNS, K, COLUMNS), lambda p, k, c: B[k, p * COLUMNS + c], name="packed")
k = te.reduce_axis((0, K), name="k")
C = te.compute(
    (M, N),
    lambda i, j: te.sum(A[i, k] * packed[j // COLUMNS, k, j % COLUMNS], axis=k),
    name="C",
)

s = te.create_schedule(C.op)
tile = s.cache_write(C, "local")

i, j = C.op.axis
io, ii = s[C].split(i, factor=ROWS)
jo, ji = s[C].split(j, factor=COLUMNS)
s[C].reorder(jo, io, ii, ji)
s[C].vectorize(ji)

s[tile].compute_at(s[C], io)
ti, tj = tile.op.axis
(tk,) = tile.op.reduce_axis
s[tile].reorder(tk, ti, tj)
s[tile].vectorize(tj)
s[tile].unroll(ti)

panel, row, column = packed.op.axis
s[packed].vectorize(column)
s[packed].parallel(panel)
s[C].parallel(jo)

matmul = tvm.build(s, [A, B, C], target="llvm -mcpu=native -mattr=-prefer-256-bit", name="matmul")
