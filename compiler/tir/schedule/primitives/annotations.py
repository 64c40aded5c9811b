"""Annotations for later passes."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.expr.primexpr import FloatImm, IntImm, StringImm
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.conditions import buffer_of
from compiler.tir.schedule.facts.roles import BLOCK, BLOCK_OR_LOOP, VALUE
from compiler.tir.schedule.primitives.loop_nest import replace_statement
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import rewritten


@primitive("Annotate", block_or_loop=BLOCK_OR_LOOP, ann_val=VALUE)
def annotate(state: ScheduleState, block_or_loop: StmtSRef, ann_key: str, ann_val: object) -> None:
    """Give a block or loop a hint, in place of one that it has under the same key.

    For example ``sch.annotate(i, "pragma_auto_unroll_max_step", 16)``::

        for i in range(128): …    →    for i in T.serial(128, annotations={"pragma_auto_unroll_max_step": 16}): …
    """
    stmt = block_or_loop.stmt
    assert stmt is not None
    _change(state, block_or_loop, {**stmt.annotations, ann_key: _plain(ann_val)})


@primitive("Unannotate", block_or_loop=BLOCK_OR_LOOP)
def unannotate(state: ScheduleState, block_or_loop: StmtSRef, ann_key: str) -> None:
    """Take a hint away from a block or loop.

    Raises ScheduleError if it has no such hint.
    """
    stmt = block_or_loop.stmt
    assert stmt is not None
    if ann_key not in stmt.annotations:
        refuse(f"The {{0}} has no annotation {ann_key!r}", stmt)
    _change(state, block_or_loop, {key: value for key, value in stmt.annotations.items() if key != ann_key})


def _change(state: ScheduleState, sref: StmtSRef, annotations: dict[str, object]) -> None:
    if sref.is_block:
        block = rewritten(sref.block, annotations=annotations)
        state.replace(sref, block, {sref.block: block})
    else:
        state.replace(sref, rewritten(sref.loop, annotations=annotations))


def _plain(value: object) -> object:
    """Return a value as annotations hold it: constants as Python's."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (IntImm, FloatImm, StringImm)):
        return value.value
    return value


@primitive("ReorderBlockIterVar", block=BLOCK, new_order=VALUE)
def reorder_block_iter_var(state: ScheduleState, block: StmtSRef, new_order: Sequence[int]) -> None:
    """Put the axes of a block into another order, given by their old places; only how it is written changes.

    For example ``sch.reorder_block_iter_var("C", [2, 0, 1])``::

        vi, vj, vk = T.axis.remap("SSR", [i, j, k])    →    vk, vi, vj = T.axis.remap("RSS", [k, i, j])

    Raises ScheduleError if these are not all of its axes.
    """
    realize = state.realize_of(block)
    if sorted(new_order) != list(range(len(realize.iter_values))):
        refuse(
            f"The new order {list(new_order)} does not permute the {len(realize.iter_values)} axes of block {{0}}",
            block,
        )
    new = rewritten(block.block, iter_vars=tuple([block.block.iter_vars[index] for index in new_order]))
    values = tuple([realize.iter_values[index] for index in new_order])
    above = block.parent
    if above is None:
        return
    replace_statement(state, above, realize, rewritten(realize, block=new, iter_values=values), {block.block: new})


@primitive("UnsafeHideBufferAccess", block=BLOCK, buf_index_array=VALUE)
def unsafe_hide_buffer_access(
    state: ScheduleState, block: StmtSRef, buf_type: str, buf_index_array: Sequence[int]
) -> None:
    """Take regions that a block reads or writes out of its signature, so that later steps do not know of them.

    Raises ScheduleError if the block has no such region, or ``buf_type`` is neither.
    """
    if buf_type not in ("read", "write"):
        refuse(
            "The buffer type for hide_buffer_access schedule should either be 'read' or 'write', "
            f"got {buf_type} instead.",
            block,
        )
    regions = block.block.reads if buf_type == "read" else block.block.writes
    for index in buf_index_array:
        buffer_of(block, index, buf_type)
    left = tuple([region for index, region in enumerate(regions) if index not in buf_index_array])
    new = rewritten(block.block, **{"reads" if buf_type == "read" else "writes": left})
    state.replace(block, new, {block.block: new})
