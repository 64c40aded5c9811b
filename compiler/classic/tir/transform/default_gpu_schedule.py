"""Binds unscheduled blocks to GPU threads."""

from __future__ import annotations

from typing import ClassVar

from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import IntImm, IterVar, Var
from compiler.ir.expr.substitute import free_vars
from compiler.ir.module import IRModule
from compiler.ir.transform import ModulePass, PassContext
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, ForKind
from compiler.tir.transform.calls.device_targets import FunctionTarget, target_or_current
from compiler.tir.transform.pass_base import PrimFuncPass

IS_SCHEDULED = "tir.is_scheduled"
"""The attribute of functions whose schedule is complete."""
_MAX_BLOCKS = 256


class DefaultGPUSchedule(ModulePass):
    """Bind the spatial loops of blocks that are bound to no thread yet, all of them as one.

    For a target with 1,024 threads a block::

        for i, j in T.grid(64, 3000):              for b in T.thread_binding(188, "blockIdx.x"):
            with T.block("B"):                         for t in T.thread_binding(1024, "threadIdx.x"):
                vi, vj = T.axis.remap("SS", [i, j])  →     with T.block("B"):
                B[vi, vj] = A[vi, vj] + 1.0                    T.where(b * 1024 + t < 192000)
                                                               …

    Threads of 256 blocks take several elements each where there are more, or where it is not known how many there are.
    Functions for a CPU, and those that have the attribute ``tir.is_scheduled``, stay; all have it afterwards. Raises
    LoweringError if a function says no target and there is no current one.
    """

    prefix: ClassVar[str] = PrimFuncPass.prefix

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        todo = {
            var: _target(func)
            for var, func in mod.items()
            if isinstance(func, PrimFunc) and not func.attrs.get(IS_SCHEDULED) and not func.is_from_schedule
        }
        sch = Schedule(mod)
        for var, target in todo.items():
            if "gpu" in target.keys:
                _schedule(sch, var.name_hint, target)
        marked = {var: sch.mod[var.name_hint].with_attr(IS_SCHEDULED, True) for var in todo}
        return mod.with_functions({var: marked.get(var, func) for var, func in mod.items()})


def _target(func: PrimFunc) -> FunctionTarget:
    given = target_or_current(func)
    if given is None:
        raise LoweringError("DefaultGPUSchedule: a function has no target, and there is no current one")
    return given


def _schedule(sch: Schedule, name: str, target: FunctionTarget) -> None:
    """Schedule the blocks of a function that are bound to no thread yet; primitives are methods of the schedule."""
    root = sch.mod[name].body
    if not isinstance(root, BlockRealize):
        return
    sch.work_on(name)
    for block in sch.get_child_blocks(sch.get_block(root.block.name_hint)):
        loops = sch.get_loops(block)
        nest = [loop for loop in map(sch.get, loops) if isinstance(loop, For)]
        if any(loop.kind is ForKind.THREAD_BINDING for loop in nest):
            continue
        statement = sch.get(block)
        assert isinstance(statement, Block)
        reduced = _reduced(statement, nest)
        spatial = [rv for rv, loop in zip(loops, nest, strict=True) if loop.loop_var not in reduced]
        others = [rv for rv, loop in zip(loops, nest, strict=True) if loop.loop_var in reduced]
        if spatial and others:
            sch.reorder(*spatial, *others)
        fused = sch.fuse(*spatial) if spatial else sch.add_unit_loop(loops[0] if loops else block)
        loop = sch.get(fused)
        extent = loop.extent if isinstance(loop, For) else None
        threads = min(int(extent), target.max_num_threads) if isinstance(extent, IntImm) else target.max_num_threads
        if isinstance(extent, IntImm) and int(extent) <= _MAX_BLOCKS * target.max_num_threads:
            outer, inner = sch.split(fused, factors=[None, threads])
        else:
            repeated, outer, inner = sch.split(fused, factors=[None, _MAX_BLOCKS, threads])
            sch.reorder(outer, inner, repeated)
        sch.bind(outer, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")


def _reduced(block: Block, loops: list[For]) -> set[Var]:
    realize = loops[-1].body if loops else None
    if not isinstance(realize, BlockRealize):
        return set()
    axes = zip(block.iter_vars, realize.iter_values, strict=True)
    return {var for axis, value in axes if axis.iter_type != IterVar.DataPar for var in free_vars(value)}
