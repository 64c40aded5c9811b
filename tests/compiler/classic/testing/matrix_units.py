"""Schedules of products of matrices for the matrix units of GPUs: ``tvm.testing.tir``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from compiler.tir.schedule import BlockRV, LoopRV, Schedule
from compiler.tir.statements.function import PrimFunc

_TILE = 16
"""Rows and columns of the results of one instruction."""
IndexFunction = Callable[..., object]
Primitives: TypeAlias = Any
"""A schedule, whose primitives are registered one by one, not written as methods."""


@dataclass(frozen=True, slots=True)
class _MatrixUnit:
    """What sets the matrix units of NVIDIA and AMD apart.

    If ``pads_rows``, rows of shared memory are padded, so that threads read from different banks.
    """

    warp_size: int
    pads_rows: bool


_MMA = _MatrixUnit(32, pads_rows=True)
_MFMA = _MatrixUnit(64, pads_rows=False)


def mma_schedule(
    workload: PrimFunc,
    k_inner: int,
    in_dtype: str,
    b_transposed: bool,
    i_factors: Sequence[int],
    j_factors: Sequence[int],
    k_factors: Sequence[int],
    index_map_A: IndexFunction,
    index_map_B: IndexFunction,
    index_map_C: IndexFunction,
    ldmatrix_a_intrin: str,
    ldmatrix_b_intrin: str,
    mma_intrin: str,
    mma_fill_intrin: str,
    mma_store_intrin: str,
    shared_scope: str = "shared",
) -> Schedule:
    """Return a schedule of a product of matrices for the tensor cores of NVIDIA's GPUs.

    Operands go by way of shared memory, its rows padded, into the registers of a warp. The workload has a block ``C``
    in loops over rows, columns and the reduction; if ``b_transposed``, the second operand has a row for each column of
    the result. The factors are those of the five loops over tiles of rows and columns (two of blocks, one of warps, two
    of each warp), and of the three of the reduction: what is fetched to shared memory, to registers, and the rest.
    """
    tiling = _Tiling(k_inner, in_dtype, b_transposed, i_factors, j_factors, k_factors, shared_scope)
    maps = (index_map_A, index_map_B, index_map_C)
    intrinsics = (ldmatrix_a_intrin, ldmatrix_b_intrin, mma_intrin, mma_fill_intrin, mma_store_intrin)
    return _scheduled(workload, _MMA, tiling, maps, intrinsics)


def mfma_schedule(
    workload: PrimFunc,
    k_inner: int,
    in_dtype: str,
    b_transposed: bool,
    i_factors: Sequence[int],
    j_factors: Sequence[int],
    k_factors: Sequence[int],
    index_map_A: IndexFunction,
    index_map_B: IndexFunction,
    index_map_C: IndexFunction,
    ldmatrix_a_intrin: str,
    ldmatrix_b_intrin: str,
    mfma_intrin: str,
    mfma_fill_intrin: str,
    mfma_store_intrin: str,
    shared_scope: str = "shared",
) -> Schedule:
    """Return a schedule of a product of matrices for the matrix cores of AMD's GPUs."""
    tiling = _Tiling(k_inner, in_dtype, b_transposed, i_factors, j_factors, k_factors, shared_scope)
    maps = (index_map_A, index_map_B, index_map_C)
    intrinsics = (ldmatrix_a_intrin, ldmatrix_b_intrin, mfma_intrin, mfma_fill_intrin, mfma_store_intrin)
    return _scheduled(workload, _MFMA, tiling, maps, intrinsics)


@dataclass(frozen=True, slots=True)
class _Tiling:
    k_inner: int
    in_dtype: str
    b_transposed: bool
    i_factors: Sequence[int]
    j_factors: Sequence[int]
    k_factors: Sequence[int]
    shared_scope: str


def _scheduled(
    workload: PrimFunc,
    unit: _MatrixUnit,
    tiling: _Tiling,
    maps: tuple[IndexFunction, IndexFunction, IndexFunction],
    intrinsics: tuple[str, str, str, str, str],
) -> Schedule:
    sch: Primitives = Schedule(workload)
    product = sch.get_block("C")
    tile, thread, fetch, load = _tiled(sch, product, tiling)
    for operand in (0, 1):
        _fetch_to_shared(sch, tile, operand, fetch, unit, tiling)
    loads = [sch.cache_read(tile, operand, "warp") for operand in (0, 1)]
    for block in loads:
        sch.compute_at(block, load)
    result = sch.cache_write(tile, 0, "warp")
    sch.reverse_compute_at(result, thread)
    _split_tiles(sch, result, _TILE, _TILE)
    sch.decompose_reduction(tile, sch.get_loops(tile)[3])
    width_b = (_TILE, tiling.k_inner) if tiling.b_transposed else (tiling.k_inner, _TILE)
    rows = [_split_tiles(sch, loads[0], _TILE, tiling.k_inner), _split_tiles(sch, loads[1], *width_b)]
    for block, index_map in zip(loads, maps[:2], strict=True):
        sch.transform_layout(block, ("write", 0), index_map)
    sch.transform_layout(result, ("read", 0), maps[2])
    first = [*rows, sch.get_loops(product)[-3], sch.get_loops(sch.get_block("C_init"))[-2], sch.get_loops(result)[-2]]
    for loop, intrinsic in zip(first, intrinsics, strict=True):
        sch.tensorize(loop, intrinsic)
    scheduled: Schedule = sch
    return scheduled


def _tiled(sch: Primitives, product: BlockRV, tiling: _Tiling) -> tuple[BlockRV, LoopRV, LoopRV, LoopRV]:
    """Split and bind the loops; return the block of one tile, and the loops of warps, of fetches and of loads."""
    i, j, k = sch.get_loops(product)
    i, i_tile = sch.split(i, [None, _TILE])
    j, j_tile = sch.split(j, [None, _TILE])
    k, k_tile = sch.split(k, [None, tiling.k_inner])
    sch.reorder(i, j, k, i_tile, j_tile, k_tile)
    tile = sch.blockize(i_tile)
    i0, i1, i2, i3, i4 = sch.split(i, tiling.i_factors)
    j0, j1, j2, j3, j4 = sch.split(j, tiling.j_factors)
    k0, k1, k2 = sch.split(k, tiling.k_factors)
    sch.reorder(i0, j0, i1, j1, j2, i2, k0, k1, i3, j3, k2, i4, j4)
    block_x, block_y, thread_y = sch.fuse(i0, j0), sch.fuse(i1, j1), sch.fuse(j2, i2)
    for loop, thread in ((block_x, "blockIdx.x"), (block_y, "blockIdx.y"), (thread_y, "threadIdx.y")):
        sch.bind(loop, thread)
    return tile, thread_y, k0, k1


def _fetch_to_shared(
    sch: Primitives, tile: BlockRV, operand: int, fetch: LoopRV, unit: _MatrixUnit, tiling: _Tiling
) -> None:
    """Let all threads of a block copy a part of an operand to shared memory, a vector each."""
    block = sch.cache_read(tile, operand, tiling.shared_scope)
    sch.compute_at(block, fetch)
    lanes = 16 if tiling.in_dtype == "int8" else 8
    warps = tiling.i_factors[2] * tiling.j_factors[2]
    elements = sch.fuse(*sch.get_loops(block)[-2:])
    _, y, x, vector = sch.split(elements, [None, warps, unit.warp_size, lanes])
    sch.bind(x, "threadIdx.x")
    sch.bind(y, "threadIdx.y")
    sch.vectorize(vector)
    if unit.pads_rows:
        sch.storage_align(block, 0, axis=-2, factor=32, offset=8 if tiling.in_dtype == "float16" else 16)


def _split_tiles(sch: Primitives, block: BlockRV, height: int, width: int) -> LoopRV:
    """Split the inner two loops of a block into tiles; return the loop over the rows of one."""
    i, j = sch.get_loops(block)[-2:]
    i_outer, i_inner = sch.split(i, [None, height])
    j_outer, j_inner = sch.split(j, [None, width])
    sch.reorder(i_outer, j_outer, i_inner, j_inner)
    rows: LoopRV = i_inner
    return rows
