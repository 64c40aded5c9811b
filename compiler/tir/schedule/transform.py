"""Composite schedule transformations: ``tvm.tir.schedule.transform``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.expr.primexpr import IntImm
from compiler.tir.expressions.intrin_registry import TensorIntrin
from compiler.tir.schedule.facts.loop_mapping import get_tensorize_loop_mapping
from compiler.tir.schedule.random_variables import BlockRV, LoopRV
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For

if TYPE_CHECKING:
    from compiler.tir.schedule.schedule import Schedule

__all__ = ["tile_with_tensor_intrin"]


def tile_with_tensor_intrin(
    sch: Schedule, block: BlockRV, intrin_name: str, allow_padding: bool = False
) -> LoopRV | None:
    """Split the loops of a block so that the inner ones are those of an intrinsic.

    Return the outermost of these, which ``sch.tensorize`` takes, or None if the loops do not fit; with
    ``allow_padding``, extents may be padded to multiples of the intrinsic's.
    """
    intrinsic = TensorIntrin.get(intrin_name)
    assert intrinsic is not None
    return _tiled(sch, block, intrinsic.desc, allow_padding)


def _tiled(sch: Schedule, block: BlockRV, description: PrimFunc, allow_padding: bool) -> LoopRV | None:
    """Split the loops that stand for those of a description; primitives are methods of the schedule."""
    info = get_tensorize_loop_mapping(sch, block, description, allow_padding)
    if info is None:
        return None
    if info.block_iter_paddings is not None:
        sch.pad_einsum(block, info.block_iter_paddings)
        info = get_tensorize_loop_mapping(sch, block, description, False)
        if info is None:
            return None
    inner: dict[int, LoopRV] = {}
    for loop in sch.get_loops(block):
        described = info.loop_map.get(sch.get_sref(loop))
        if described is None:
            continue
        assert isinstance(described.extent, IntImm)
        _, tile = sch.split(loop, [None, described.extent.value])
        inner[info.desc_loop_indexer[described]] = tile
    tiles = [inner[place] for place in sorted(inner)]
    sch.reorder(*_from_first_tile(sch, block, tiles), *tiles)
    return tiles[0]


def _from_first_tile(sch: Schedule, block: BlockRV, tiles: list[LoopRV]) -> list[LoopRV]:
    """Return the loops that lie among the tiles, which go around them."""
    inside = [sch.get(tile) for tile in tiles]
    loops = sch.get_loops(block)
    statements = [sch.get(loop) for loop in loops]
    first = min(index for index, stmt in enumerate(statements) if any(stmt is tile for tile in inside))
    return [
        loop
        for loop, stmt in list(zip(loops, statements, strict=True))[first:]
        if isinstance(stmt, For) and not any(stmt is tile for tile in inside)
    ]
