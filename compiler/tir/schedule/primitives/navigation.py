"""Lookup of blocks and loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from compiler.ir.error import ArgumentError
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.conditions import is_output_block, scope_root
from compiler.tir.schedule.facts.roles import BLOCK, BLOCK_OR_LOOP, Role
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import DepKind, LoopSRef, StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import loops_above

if TYPE_CHECKING:
    from compiler.tir.schedule.schedule import Schedule


class _FunctionName(Role):
    """A function's name; that of the one which the schedule works on where left out."""

    def recorded(self, sch: Schedule, operation: str, value: object, given: Mapping[str, object]) -> str:
        if value is not None:
            return str(value)
        if sch.func_working_on is None:
            raise ArgumentError(
                f"{operation}: the module has several functions; pass func_name, or choose one with work_on"
            )
        return sch.func_working_on.name_hint


@primitive("GetBlock", pure=True, func_name=_FunctionName())
def get_block(sch: Schedule, name: str, func_name: str | None = None) -> StmtSRef:
    """Return a block by its name.

    Raises ScheduleError if there is no block of that name, or more than one.
    """
    state = sch.state
    root = None if func_name is None else state.root_of_function(func_name)
    if root is None:
        raise ArgumentError(f"get_block: the program has no function {func_name!r}")
    blocks = [s for s in state.subtree(root) if s.is_block and s.block.name_hint == name]
    if not blocks:
        refuse(f"Cannot find a block with the name: {name}")
    if len(blocks) > 1:
        refuse(f"Found {len(blocks)} blocks with the name: {name}", *[block.block for block in blocks])
    return blocks[0]


@primitive("GetLoops", pure=True, block=BLOCK)
def get_loops(state: ScheduleState, block: StmtSRef) -> list[LoopSRef]:
    """Return the loops around a block, within the innermost block around it."""
    return loops_above(block)


@primitive("GetChildBlocks", pure=True, block_or_loop=BLOCK_OR_LOOP)
def get_child_blocks(state: ScheduleState, block_or_loop: StmtSRef) -> list[StmtSRef]:
    """Return the outermost blocks inside of a block or loop."""
    return state.child_blocks(block_or_loop)


@primitive("GetProducers", pure=True, block=BLOCK)
def get_producers(state: ScheduleState, block: StmtSRef) -> list[StmtSRef]:
    """Return the blocks that write what a block reads, within the block around them."""
    return producers_of(state, block)


@primitive("GetConsumers", pure=True, block=BLOCK)
def get_consumers(state: ScheduleState, block: StmtSRef) -> list[StmtSRef]:
    """Return the blocks that read what a block writes, within the block around them."""
    return consumers_of(state, block)


@primitive("GetOutputBlocks", pure=True, scope_block=BLOCK)
def get_output_blocks(state: ScheduleState, scope_block: StmtSRef) -> list[StmtSRef]:
    """Return the blocks inside of a block that write what is read outside of it."""
    return [block for block in state.child_blocks(scope_block) if is_output_block(block, scope_block)]


def producers_of(state: ScheduleState, block: StmtSRef) -> list[StmtSRef]:
    """Return the blocks of the same scope that write what a block reads."""
    scope = state.info(scope_root(state, block)).scope
    return list(dict.fromkeys(dep.src for dep in scope.get_deps_by_dst(block) if dep.kind == DepKind.RAW))


def consumers_of(state: ScheduleState, block: StmtSRef) -> list[StmtSRef]:
    """Return the blocks of the same scope that read what a block writes."""
    scope = state.info(scope_root(state, block)).scope
    return list(dict.fromkeys(dep.dst for dep in scope.get_deps_by_src(block) if dep.kind == DepKind.RAW))
