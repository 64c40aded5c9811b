"""GPU: a race that the sanitizer catches

Each thread adds its neighbour's element to its own in place, and may read it before or after the neighbour has written
it. The On a GPU pane names both lines and both threads.
"""

import tvm
from tvm.script import tir as T


@T.prim_func
def add_neighbour(A: T.Buffer((256,), "float32")):
    block = T.launch_thread("blockIdx.x", 4)
    thread = T.launch_thread("threadIdx.x", 64)
    if block * 64 + thread < 255:
        A[block * 64 + thread] = A[block * 64 + thread] + A[block * 64 + thread + 1]


f = tvm.build(add_neighbour, target="cuda")
