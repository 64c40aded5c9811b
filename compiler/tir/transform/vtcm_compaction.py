"""The passes after which a function's VTCM usage is known."""

from __future__ import annotations

from compiler.ir.transform import Pass
from compiler.tir.transform.compact_buffer_allocation import CompactBufferAllocation
from compiler.tir.transform.convert_blocks_to_opaque import ConvertBlocksToOpaque
from compiler.tir.transform.flatten_buffer import FlattenBuffer
from compiler.tir.transform.inject_software_pipeline import InjectSoftwarePipeline
from compiler.tir.transform.lower_init_block import LowerInitBlock
from compiler.tir.transform.lower_match_buffer import LowerMatchBuffer
from compiler.tir.transform.lower_opaque_block import LowerOpaqueBlock
from compiler.tir.transform.plan_update_buffer_allocation_location import PlanAndUpdateBufferAllocationLocation
from compiler.tir.transform.simplify import Simplify
from compiler.tir.transform.storage_rewrite import StorageRewrite
from compiler.tir.transform.vectorize_loop import VectorizeLoop

__all__ = ["get_vtcm_compaction_passes"]


def get_vtcm_compaction_passes() -> list[Pass]:
    """Return the passes after which ``calculate_allocated_bytes`` says what a function needs."""
    return [
        LowerInitBlock(),
        PlanAndUpdateBufferAllocationLocation(),
        ConvertBlocksToOpaque(),
        CompactBufferAllocation(),
        LowerMatchBuffer(),
        InjectSoftwarePipeline(),
        LowerOpaqueBlock(),
        FlattenBuffer(),
        Simplify(),
        VectorizeLoop(),
        StorageRewrite(),
    ]
