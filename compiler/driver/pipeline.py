"""The four classic lowering phases, as lists of passes.

====== ==========================================================================================
phase  what it does
====== ==========================================================================================
0      the loops as the schedule says
1      flattens buffers to one dimension, narrows indices to 32 bits
2      transforms loops: partitions, vectorizes, injects virtual threads and double buffers, unrolls
3      cleans up, and hoists common subexpressions
====== ==========================================================================================

A user's passes run at the end of a phase; those of the last one before common subexpressions are hoisted.
"""

from __future__ import annotations

from compiler.ir.error import ArgumentError, show
from compiler.ir.transform import Pass, PassContext, register_config_option
from compiler.tir.transform.blocks.compact_buffer_allocation import CompactBufferAllocation
from compiler.tir.transform.blocks.convert_blocks_to_opaque import ConvertBlocksToOpaque
from compiler.tir.transform.blocks.inject_rolling_buffer import InjectRollingBuffer
from compiler.tir.transform.blocks.inject_software_pipeline import InjectSoftwarePipeline
from compiler.tir.transform.blocks.lower_auto_copy import LowerAutoCopy
from compiler.tir.transform.blocks.lower_init_block import LowerInitBlock
from compiler.tir.transform.blocks.lower_match_buffer import LowerMatchBuffer
from compiler.tir.transform.blocks.lower_opaque_block import LowerOpaqueBlock
from compiler.tir.transform.blocks.plan_update_buffer_allocation_location import PlanAndUpdateBufferAllocationLocation
from compiler.tir.transform.blocks.transform_mma_buffer_layout import TransformMmaBufferLayout
from compiler.tir.transform.calls.instrument_bound_checkers import InstrumentBoundCheckers
from compiler.tir.transform.calls.instrument_profile_intrinsics import INSTRUMENT, InstrumentProfileIntrinsics
from compiler.tir.transform.calls.skip_assert import SkipAssert
from compiler.tir.transform.common_subexpr_elim import CommonSubexprElimTIR
from compiler.tir.transform.legalize.narrow_data_type import NarrowDataType
from compiler.tir.transform.legalize.rewrite_unsafe_select import RewriteUnsafeSelect
from compiler.tir.transform.loops.hoist_if_then_else import HoistIfThenElse
from compiler.tir.transform.loops.loop_partition import LoopPartition
from compiler.tir.transform.loops.reduce_in_pairs import ReduceInPairs
from compiler.tir.transform.loops.unroll_loop import UnrollLoop
from compiler.tir.transform.loops.vectorize_loop import VectorizeLoop
from compiler.tir.transform.memory.flatten_buffer import FlattenBuffer
from compiler.tir.transform.memory.inject_double_buffer import InjectDoubleBuffer
from compiler.tir.transform.memory.inject_prefetch import InjectPrefetch
from compiler.tir.transform.memory.storage_flatten import StorageFlatten
from compiler.tir.transform.memory.storage_rewrite import StorageRewrite
from compiler.tir.transform.pass_base import prim_func_pass
from compiler.tir.transform.remove_no_op import RemoveNoOp
from compiler.tir.transform.simplify import Simplify
from compiler.tir.transform.threads.inject_virtual_thread import InjectVirtualThread
from compiler.tir.transform.threads.lower_cross_thread_reduction import LowerCrossThreadReduction
from compiler.tir.transform.threads.unify_thread_binding import UnifyThreadBinding

register_config_option("tir.add_lower_pass", (list, tuple))
register_config_option("tir.noalias", (bool, int))
# These change how TVM compiles, and nothing here.  Memory is always planned, by StorageRewrite and, between kernels, by
# GraphPlanMemory; every function with a global symbol is an entry point; machine code always has the program's lines;
# and NVIDIA's compilers choose the instructions of loads.
for _switch in ("usmp.enable", "usmp.use_workspace_io", "is_entry_func", "enable_debug", "ptx_ldg32"):
    register_config_option(f"tir.{_switch}", (bool, int))
for _algorithm in ("usmp.algorithm", "usmp.custom_algorithm"):
    register_config_option(f"tir.{_algorithm}", str)

PHASES = 4


def phases(ctx: PassContext, simple_mode: bool = False, blocks: bool = False) -> list[list[Pass]]:
    """Return the passes of each phase, the user's included.

    Those are the context's ``tir.add_lower_pass``, a list of ``(phase, pass)``, where a pass may be a function
    ``f(func, mod, ctx) -> func`` and phases from 3 on are the last one.  With ``simple_mode`` there is nothing that
    makes the loops longer or harder to read: no partitioning of loops, no hoisting of common subexpressions.
    """
    users: list[list[Pass]] = [[] for _ in range(PHASES)]
    for entry in ctx.config.get("tir.add_lower_pass", ()):
        phase, added = _user_pass(entry)
        users[min(phase, PHASES - 1)].append(added)
    return [
        users[0],
        [*(lower_blocks() if blocks else []), *flatten(), *users[1]],
        [*transform_loops(ctx, simple_mode), *users[2]],
        [
            *clean_up(),
            *users[3],
            *instrument(ctx),
            *hoist_common_subexpressions(ctx, simple_mode),
            *([InstrumentProfileIntrinsics()] if ctx.config.get(INSTRUMENT) else []),
        ],
    ]


def lower_blocks() -> list[Pass]:
    """Return the passes of phase 1 that make loops and memory of blocks."""
    return [
        LowerCrossThreadReduction(),
        LowerInitBlock(),
        PlanAndUpdateBufferAllocationLocation(),
        ConvertBlocksToOpaque(),
        UnifyThreadBinding(),
        CompactBufferAllocation(),
        LowerAutoCopy(),
        UnifyThreadBinding(),
        LowerMatchBuffer(),
        InjectSoftwarePipeline(separate_commits=True),
        TransformMmaBufferLayout(),
        LowerOpaqueBlock(),
    ]


def flatten() -> list[Pass]:
    """Return the passes of phase 1 that every program goes through."""
    return [
        InjectRollingBuffer(),
        InjectPrefetch(),
        StorageFlatten(64),
        FlattenBuffer(separated="parameters"),
        NarrowDataType(32),
        Simplify(),
    ]


def transform_loops(ctx: PassContext, simple_mode: bool) -> list[Pass]:
    """Return the passes of phase 2."""
    config = ctx.config
    passes: list[Pass] = [] if simple_mode else [LoopPartition()]
    passes += [
        ReduceInPairs(),
        VectorizeLoop(not config.get("tir.disable_vectorize", False)),
        InjectVirtualThread(),
        InjectDoubleBuffer(),
    ]
    if not config.get("tir.disable_storage_rewrite", False):
        passes.append(StorageRewrite())
    return [*passes, HoistIfThenElse(), UnrollLoop()]


def clean_up() -> list[Pass]:
    """Return the passes of phase 3 that come before the user's."""
    return [Simplify(), RemoveNoOp(), RewriteUnsafeSelect()]


def instrument(ctx: PassContext) -> list[Pass]:
    """Return the passes that add checks, or leave them out, as the context says."""
    passes: list[Pass] = []
    if ctx.config.get("tir.instrument_bound_checkers", False):
        passes.append(InstrumentBoundCheckers())
    if ctx.config.get("tir.disable_assert", False):
        passes.append(SkipAssert())
    return passes


def hoist_common_subexpressions(ctx: PassContext, simple_mode: bool) -> list[Pass]:
    """Return the passes of phase 3 that come after the user's."""
    if simple_mode or ctx.config.get("tir.disable_cse_tir", False):
        return []
    return [CommonSubexprElimTIR()]


def _user_pass(entry: object) -> tuple[int, Pass]:
    """Return the phase and the pass of one entry of ``tir.add_lower_pass``."""
    if not isinstance(entry, (tuple, list)) or len(entry) != 2:
        raise ArgumentError(f"tir.add_lower_pass: expected pairs (phase, pass), got {show(entry)}")
    phase, added = entry
    if isinstance(phase, bool) or not isinstance(phase, int) or phase < 0:
        raise ArgumentError(f"tir.add_lower_pass: phase must be an int from 0 to {PHASES - 1}, got {show(phase)}")
    if isinstance(added, Pass):
        return phase, added
    if callable(added):
        name = getattr(added, "__name__", type(added).__name__)
        return phase, prim_func_pass(added, opt_level=0, name=name)
    raise ArgumentError(f"tir.add_lower_pass: expected a pass or a function (func, mod, ctx), got {show(added)}")
