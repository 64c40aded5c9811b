"""Matches the loops of a block with those of an intrinsic's description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compiler.arith import Analyzer
from compiler.ir.expr.primexpr import IntImm, PrimExpr
from compiler.ir.expr.substitute import uses_var
from compiler.tir.schedule.random_variables import BlockRV
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.tree import children_of, loops_above
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, Stmt

if TYPE_CHECKING:
    from compiler.tir.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False)
class TensorizeInfo:
    """How the loops of a block stand for those of an intrinsic's description."""

    loop_map: Mapping[StmtSRef, For]  # loops of the block, with those of the description that they stand for
    desc_loop_indexer: Mapping[For, int]  # the place of each of these loops in the description, outermost first
    # what the extents of the block's axes have to be padded to multiples of; None if nothing is padded
    block_iter_paddings: list[int] | None


def get_tensorize_loop_mapping(
    sch: Schedule, block: BlockRV, desc_func: PrimFunc, allow_padding: bool = False
) -> TensorizeInfo | None:
    """Find the loops of a block that an intrinsic could carry out, from the innermost axes on.

    With ``allow_padding``, extents may be padded to multiples of the description's. None if an axis of the description
    has no counterpart of its kind, or extents do not fit.
    """
    sref = sch.get_sref(block)
    own_loops = loops_above(sref)
    own = sch.state.realize_of(sref)
    described, described_loops = innermost(desc_func.body)
    if described is None or len(described.iter_values) > len(own.iter_values):
        return None
    loop_map: dict[StmtSRef, For] = {}
    paddings = [1] * len(own.iter_values)
    position = len(own.iter_values)
    for axis, value in reversed(list(zip(described.block.iter_vars, described.iter_values, strict=True))):
        position = _axis_before(own.block, axis.iter_type, position)
        if position < 0:
            return None
        for loop in described_loops:
            partner = _loop_of(own.iter_values[position], own_loops) if _is_loop(value, loop) else None
            if partner is None:
                continue
            padding = _padding(partner.stmt, loop)
            if padding is None or (padding > 1 and not allow_padding):
                return None
            paddings[position] = padding
            loop_map[partner] = loop
    order = {loop: index for index, loop in enumerate(described_loops) if loop in loop_map.values()}
    return TensorizeInfo(loop_map, order, paddings if max(paddings, default=1) > 1 else None)


def innermost(stmt: Stmt) -> tuple[BlockRealize | None, list[For]]:
    """Return the innermost block of a description, and the loops around it."""
    innermost: BlockRealize | None = None
    loops: list[For] = []
    inside: list[tuple[Stmt, list[For]]] = [(stmt, [])]
    while inside:
        current, around = inside.pop()
        if isinstance(current, BlockRealize):
            innermost, loops = current, around
            current = current.block
            around = []
        elif isinstance(current, For):
            around = [*around, current]
        inside.extend((child, around) for child, _ in children_of(current))
    return innermost, loops


def _axis_before(block: Block, iter_type: int, position: int) -> int:
    """Return the place of the last axis of a kind before another one, -1 if there is none."""
    places = [place for place in range(position) if block.iter_vars[place].iter_type == iter_type]
    return places[-1] if places else -1


def _loop_of(value: PrimExpr, loops: list[StmtSRef]) -> StmtSRef | None:
    """Return the innermost loop that an axis goes up by one with."""
    for sref in reversed(loops):
        if isinstance(sref.stmt, For) and _is_loop(value, sref.stmt):
            return sref
    return None


def _is_loop(value: PrimExpr, loop: For) -> bool:
    """Return whether a value is a loop's variable and something that does not depend on it."""
    if not uses_var(value, lambda var: var is loop.loop_var):
        return False
    return not uses_var(Analyzer().simplify(value - loop.loop_var), lambda var: var is loop.loop_var)


def _padding(stmt: Stmt | None, described: For) -> int | None:
    """Return what an extent has to be padded to a multiple of, 1 if it is one, None if it is not known."""
    if not isinstance(stmt, For) or not isinstance(stmt.extent, IntImm) or not isinstance(described.extent, IntImm):
        return None
    return described.extent.value if stmt.extent.value % described.extent.value else 1
