"""Attention

Let each of 256 queries look at 256 keys: scores, their softmax, and the values weighed with it.
"""
# /// challenge
# group = "Attention"
# hint = """
# Two matrix products with a softmax between them. Tile both; compute the softmax of a few rows where they are
# used, so that the scores never leave the cache.
# """
# numpy = '''
# lambda Q, K, V: (lambda s: (lambda e: e / e.sum(axis=1, keepdims=True))(np.exp(s - s.max(axis=1,
# keepdims=True))))(Q @ K.T * np.float32(0.125)) @ V
# '''
# peak = "compute"
# small = { m = 17, n = 23, depth = 16 }
# ///

import tvm
from tvm import te

m, n, depth = 256, 256, 64
Q = te.placeholder((m, depth), name="Q")
K = te.placeholder((n, depth), name="K")
V = te.placeholder((n, depth), name="V")
d = te.reduce_axis((0, depth), name="d")
S = te.compute((m, n), lambda i, j: te.sum(Q[i, d] * K[j, d], axis=d), name="S")
k = te.reduce_axis((0, n), name="k")
top = te.compute((m,), lambda i: te.max(S[i, k] * 0.125, axis=k), name="top")
E = te.compute((m, n), lambda i, j: te.exp(S[i, j] * 0.125 - top[i]), name="E")
k2 = te.reduce_axis((0, n), name="k2")
total = te.compute((m,), lambda i: te.sum(E[i, k2], axis=k2), name="total")
P = te.compute((m, n), lambda i, j: E[i, j] / total[i], name="P")
k3 = te.reduce_axis((0, n), name="k3")
Y = te.compute((m, depth), lambda i, j: te.sum(P[i, k3] * V[k3, j], axis=k3), name="Y")

s = te.create_schedule(Y.op)
f = tvm.build(s, [Q, K, V, Y], target="llvm", name="attention")
