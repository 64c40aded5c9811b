"""Analyses of scheduled blocks: ``tvm.tir.schedule.analysis``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.extension import public_module
from compiler.tir.schedule.facts import conditions
from compiler.tir.schedule.facts.loop_mapping import TensorizeInfo, get_tensorize_loop_mapping
from compiler.tir.schedule.intrinsic_mapping import AutoTensorizeMappingInfo, get_auto_tensorize_mapping_info
from compiler.tir.schedule.layout_suggestion import suggest_index_map
from compiler.tir.schedule.random_variables import BlockRV
from compiler.tir.schedule.tree import all_blocks

if TYPE_CHECKING:
    from compiler.tir.schedule.schedule import Schedule

__all__ = [
    "AutoTensorizeMappingInfo",
    "TensorizeInfo",
    "get_auto_tensorize_mapping_info",
    "get_tensorize_loop_mapping",
    "has_block",
    "is_output_block",
    "suggest_index_map",
]


def has_block(sch: Schedule, block_name: str) -> bool:
    """Return whether the function that a schedule works on has a block of a name."""
    function = sch.func_working_on
    return function is not None and any(block.name_hint == block_name for block in all_blocks(sch.mod[function].body))


def is_output_block(sch: Schedule, block: BlockRV) -> bool:
    """Return whether a block writes a buffer that the block around it does not allocate."""
    sref = sch.get_sref(block)
    return conditions.is_output_block(sch.state, sref, conditions.scope_root(sch.state, sref))


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.tir.schedule.analysis", __all__)
