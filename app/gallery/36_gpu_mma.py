"""GPU: a matrix product with ldmatrix and mma

The same tensor cores by the instructions of PTX. In the pane On a GPU, *draw* shows which thread has which element, and
which banks ``ldmatrix`` reads: rows that lie 32 or 64 bytes apart share banks. Set ``padding = 8`` and watch.
"""

import tvm
from tvm import te, tir
from tvm.tir.tensor_intrin.cuda import get_mma_intrin_group, shared_16x16_to_ldmatrix_32x8_layout

n, m, padding = 64, 16, 0
A, B = (te.placeholder((n, n), "float16", name) for name in "AB")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k].astype("float32") * B[k, j].astype("float32"), axis=k), name="C")
names = get_mma_intrin_group("shared", "global", "float16", "float32", False, False, False)
sch = tir.Schedule(te.create_prim_func([A, B, C]))
product = sch.get_block("C")
(i, ii), (j, jj), (k, kk) = [sch.split(loop, [None, m]) for loop in sch.get_loops(product)]
j, warp = sch.split(j, [None, 2])
sch.reorder(i, j, warp, k, ii, jj, kk)
sch.bind(i, "blockIdx.y")
sch.bind(j, "blockIdx.x")
sch.bind(warp, "threadIdx.y")
tile = sch.blockize(ii)
for operand in range(2):
    shared = sch.cache_read(tile, operand, "shared")
    sch.compute_at(shared, k)
    if padding:
        sch.storage_align(shared, 0, axis=-2, factor=16, offset=padding)
    _, y, x = sch.split(sch.fuse(*sch.get_loops(shared)[-2:]), [None, 2, 32])
    sch.bind(y, "threadIdx.y")
    sch.bind(x, "threadIdx.x")


def in_registers(copy, side):
    rows, columns = sch.get_loops(copy)[-2:]
    (i, ii), (j, jj) = sch.split(rows, [None, m]), sch.split(columns, [None, m])
    sch.reorder(i, j, ii, jj)
    layout = shared_16x16_to_ldmatrix_32x8_layout
    sch.transform_layout(copy, (side, 0), lambda i, j: (i // m, j // m, *layout(i % m, j % m)))
    return ii


loads = [sch.cache_read(tile, operand, "warp") for operand in range(2)]
store = sch.cache_write(tile, 0, "warp")
sch.reverse_compute_at(store, warp)
for copy, name in (loads[0], "load_a"), (loads[1], "load_b"):
    sch.tensorize(in_registers(copy, "write"), names[name])
sch.tensorize(in_registers(store, "read"), names["store"])
sch.tensorize(sch.decompose_reduction(tile, k), names["init"])
sch.tensorize(tile, names["compute"])
f = tvm.build(sch.mod, target="cuda")
