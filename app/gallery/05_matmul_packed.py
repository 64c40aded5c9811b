"""Matmul, packed and register-tiled

The technique of optimised BLAS libraries. B is packed into panels as wide as a register tile, each just before it is
used, so that it stays in the L2 cache. A tile of C stays in vector registers throughout the loop over k.

AVX-512 has thirty-two registers of sixteen floats, and six rows of sixty-four columns take twenty-four of them; older
processors have room for sixteen columns. 1024 is not a multiple of six, so the loop over tiles is partitioned: full
tiles first, then a smaller one.
"""

import numpy as np
import tvm
from tvm import te

M = N = K = 1024
ROWS = 6
COLUMNS = 64 if tvm.target.codegen.llvm_get_vector_width("llvm") == 512 else 16

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

i, j = s[C].op.axis
panels, column = s[C].split(j, factor=COLUMNS)
tiles, row = s[C].split(i, factor=ROWS)
s[C].reorder(panels, tiles, row, column)
s[C].vectorize(column)
s[C].unroll(row)
s[C].pragma(tiles, "loop_partition_hint")

s[tile].compute_at(s[C], tiles)
y, x = s[tile].op.axis
(z,) = s[tile].op.reduce_axis
steps, step = s[tile].split(z, factor=4)
s[tile].reorder(steps, step, y, x)
s[tile].vectorize(x)
s[tile].unroll(y)
s[tile].unroll(step)

panel, depth, lane = s[packed].op.axis
s[packed].compute_at(s[C], panels)
s[packed].vectorize(lane)
s[C].parallel(panels)

matmul = tvm.build(s, [A, B, C], target="llvm", name="matmul")

rng = np.random.default_rng(0)
a, b = (rng.standard_normal((1024, 1024), dtype="float32") for _ in range(2))
dev = tvm.cpu(0)
args = tvm.nd.array(a, dev), tvm.nd.array(b, dev), tvm.nd.empty((M, N), "float32", dev)
matmul(*args)
np.testing.assert_allclose(args[2].numpy(), a @ b, rtol=1e-3, atol=1e-3)
seconds = matmul.time_evaluator(matmul.entry_name, dev, number=10, repeat=5)(*args).median
print(f"{2 * M * N * K / seconds / 1e9:.1f} GFLOP/s")
