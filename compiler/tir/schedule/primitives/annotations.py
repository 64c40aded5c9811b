"""Hints for later passes."""

from __future__ import annotations

from typing import Any

from compiler.ir.primexpr import FloatImm, IntImm, StringImm
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.roles import BLOCK_OR_LOOP, VALUE
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.tree import changed

__all__ = ["annotate", "unannotate"]


@primitive("Annotate", block_or_loop=BLOCK_OR_LOOP, ann_val=VALUE)
def annotate(state: ScheduleState, block_or_loop: StmtSRef, ann_key: str, ann_val: Any) -> None:
    """Give a block or loop a hint, in the place of one that it has under the same key.

    For example ``sch.annotate(i, "pragma_auto_unroll_max_step", 16)``::

        for i in range(128): …    →    for i in T.serial(128, annotations={"pragma_auto_unroll_max_step": 16}): …

    Parameters
    ----------
    block_or_loop : BlockRV or LoopRV
        What gets the hint.
    ann_key : str
        Which hint.
    ann_val : str, int, float, PrimExpr, or list or mapping of them
        What it says.
    """
    stmt = block_or_loop.stmt
    assert stmt is not None
    _change(state, block_or_loop, {**stmt.annotations, ann_key: _plain(ann_val)})


@primitive("Unannotate", block_or_loop=BLOCK_OR_LOOP)
def unannotate(state: ScheduleState, block_or_loop: StmtSRef, ann_key: str) -> None:
    """Take a hint away from a block or loop.

    Parameters
    ----------
    block_or_loop : BlockRV or LoopRV
        What has the hint.
    ann_key : str
        Which hint.

    Raises
    ------
    ScheduleError
        If it has no such hint.
    """
    stmt = block_or_loop.stmt
    assert stmt is not None
    if ann_key not in stmt.annotations:
        refuse(
            state.mod,
            "The block or loop has no such annotation",
            f"The {{0}} has no annotation {ann_key!r}",
            stmt,
        )
    _change(state, block_or_loop, {key: value for key, value in stmt.annotations.items() if key != ann_key})


def _change(state: ScheduleState, sref: StmtSRef, annotations: dict[str, Any]) -> None:
    if sref.is_block:
        block = changed(sref.block, annotations=annotations)
        state.replace(sref, block, {sref.block: block})
    else:
        state.replace(sref, changed(sref.loop, annotations=annotations))


def _plain(value: Any) -> Any:
    """Return a value as annotations hold it: constants as Python's."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (IntImm, FloatImm, StringImm)):
        return value.value
    return value
