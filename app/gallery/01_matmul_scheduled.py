"""Matmul, three steps to the speed of NumPy

One definition, and a schedule of three steps. The ladder measures what each of them gains. Change a factor or remove a
line, and watch the loops, the LLVM IR and the assembly change.
"""

import tvm
from tvm import te

N = 960
ROWS = 6
COLUMNS = 64 if tvm.target.codegen.llvm_get_vector_width("llvm") == 512 else 16  # four vectors of AVX-512, two of AVX2

A = te.placeholder((N, N), name="A")
B = te.placeholder((N, N), name="B")
k = te.reduce_axis((0, N), name="k")
C = te.compute((N, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

s = te.create_schedule(C.op)
i, j = C.op.axis

# 1. Many columns at once, in vectors: a row of B is read along, not one element of it.
jo, ji = s[C].split(j, factor=COLUMNS)
s[C].vectorize(ji)

# 2. A panel of columns goes with all rows of A before the next one: it stays in the cache.
s[C].reorder(jo, i, ji, k)

# 3. Several rows at once: each vector of B is loaded once for all of them, and the sums stay in registers.
io, ii = s[C].split(i, factor=ROWS)
s[C].reorder(jo, io, k, ii, ji)

matmul = tvm.build(s, [A, B, C], target="llvm -mcpu=native", name="matmul")
