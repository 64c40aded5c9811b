"""GPU: transposition without bank conflicts

With shared memory, both the reads and the writes of a transposition are coalesced. With padding = 0, the 32 threads of
a warp read a column of the tile, all from the same bank: press draw, then set padding to 1.
"""

import tvm
from tvm import te

n, tile, padding = 512, 32, 0
A = te.placeholder((n, n), name="A")
B = te.compute((n, n), lambda i, j: A[j, i], name="B")

s = te.create_schedule(B.op)
AS = s.cache_read(A, "shared", [B])
s[AS].storage_align(s[AS].op.axis[0], tile, padding)
ty, tx = te.thread_axis((0, 8), "threadIdx.y"), te.thread_axis((0, 32), "threadIdx.x")
i, j = s[B].op.axis
(by, i), (bx, j) = s[B].split(i, factor=tile), s[B].split(j, factor=tile)
s[B].reorder(by, bx, i, j)
s[B].bind(by, te.thread_axis("blockIdx.y"))
s[B].bind(bx, te.thread_axis("blockIdx.x"))
s[AS].compute_at(s[B], bx)
for stage, (rows, columns) in ((AS, s[AS].op.axis), (B, (i, j))):
    _, row = s[stage].split(rows, factor=8)
    s[stage].bind(row, ty)
    s[stage].bind(columns, tx)
f = tvm.build(s, [A, B], target="cuda")
