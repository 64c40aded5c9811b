"""Matrix product

Multiply two matrices of 512 by 512 numbers.
"""
# /// challenge
# group = "Products"
# hint = """
# Tile so that a block of C stays in registers: some rows by a few vectors, the loop over k around them.
# cache_write keeps the block.
# """
# numpy = "lambda A, B: A @ B"
# peak = "compute"
# small = { n = 33 }
# ///

import tvm
from tvm import te

n = 512
A = te.placeholder((n, n), name="A")
B = te.placeholder((n, n), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

s = te.create_schedule(C.op)
f = tvm.build(s, [A, B, C], target="llvm", name="matmul")
