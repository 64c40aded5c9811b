"""``tvm.meta_schedule.postproc``: what is done to a schedule, or asked of it, before it is a candidate."""

from __future__ import annotations

from collections.abc import Callable

from compiler.classic.meta_schedule.part import Part
from compiler.classic.meta_schedule.picked_schedule import derivation_of
from compiler.classic.meta_schedule.schedule_rule import ROWS, TENSORIZE, require_llvm
from compiler.classic.tir.transform.remove_weight_layout_rewrite_block import LAYOUT_REWRITE
from compiler.ir.error import ArgumentError, undefined
from compiler.ir.expr.primexpr import IntImm, is_const_int
from compiler.ir.expr.substitute import substitute
from compiler.search.blocks import blocks_of
from compiler.search.rules import Derivation, are_reduced
from compiler.tir.schedule.analysis import suggest_index_map
from compiler.tir.schedule.error import ScheduleError
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc


class Postproc(Part):
    """Changes a schedule, or refuses it; a program's own one derives from this class, or from its other name."""

    def apply(self, sch: Schedule) -> bool:
        """Change a schedule, and return whether it may be a candidate."""
        undefined(self, "apply")

    def act(self, d: Derivation) -> None:
        """Change what was derived.

        Raises ArgumentError if it is refused.
        """
        if not self.apply(d.sch):
            raise ArgumentError(f"{type(self).__name__}.apply: the schedule is refused")

    @staticmethod
    def create(kind: str) -> list[Postproc]:
        """Return what is done for a processor, which ``kind`` calls ``llvm``."""
        require_llvm("Postproc.create", kind)
        return [DisallowDynamicLoop(), RewriteParallelVectorizeUnroll(), RewriteReductionBlock(), RewriteLayout()]


PyPostproc = Postproc


class DisallowDynamicLoop(Postproc):
    """Refuses schedules with a loop whose number of iterations is no constant."""

    def apply(self, sch: Schedule) -> bool:
        """Return whether all loops have constant numbers of iterations."""
        return all(isinstance(sref.loop.extent, IntImm) for sref in sch.state.loops())


class _Derived(Postproc):
    """What the search's own rules do at the end."""

    def apply(self, sch: Schedule) -> bool:
        self.act(derivation_of(sch))
        return True


class RewriteParallelVectorizeUnroll(_Derived):
    """Does what annotations ask for: outer loops run in parallel, inner ones over vectors, and short ones are unrolled.

    The annotations are ``meta_schedule.parallel``, ``vectorize``, ``unroll_explicit`` and ``unroll_implicit`` of the
    root. How far they go follows from the processor's cores and vectors; the last two are the steps of an inner loop.
    """

    def act(self, d: Derivation) -> None:
        """Do what the annotations of the root ask for, and remove them."""
        root = d.sch.get_block("root")
        asked = {name: int(value) for name, value in d.sch.get_sref(root).block.annotations.items() if name in _ASKED}
        for name, steps in asked.items():
            d.sch.unannotate(root, name)
            row, is_explicit = _ASKED[name], name.endswith("explicit")
            for rv in reversed(blocks_of(d.sch)):
                loops = d.sch.get_loops(rv)
                if row:
                    ROWS[row].apply(d, rv)
                elif loops and steps and "pragma_auto_unroll_max_step" not in d.sch.get_sref(loops[0]).loop.annotations:
                    d.sch.annotate(loops[0], "pragma_auto_unroll_max_step", steps)
                    d.sch.annotate(loops[0], "pragma_unroll_explicit", int(is_explicit))


_ASKED = {
    "meta_schedule.parallel": "parallel", "meta_schedule.vectorize": "vectorize", "meta_schedule.unroll_explicit": "",
    "meta_schedule.unroll_implicit": "",
}  # fmt: skip
"""The row of the search's rules that an annotation asks for."""


class RewriteReductionBlock(_Derived):
    """Lets reductions begin outside their loops."""

    def act(self, d: Derivation) -> None:
        for rv in blocks_of(d.sch, with_scopes=True):
            loops = d.sch.get_loops(rv)
            is_reduced = are_reduced(d, rv, loops)
            if d.sch.get_sref(rv).block.init is None or True not in is_reduced:
                continue
            if d.name(rv) in d.begins:
                ROWS["begin"].apply(d, rv)
                continue
            try:
                d.sch.decompose_reduction(rv, loops[is_reduced.index(True)])
            except ScheduleError:
                continue  # it stays as it is, which computes the same


class RewriteTensorize(Postproc):
    """Replaces blocks by the intrinsics that their annotation ``meta_schedule.auto_tensorize`` says.

    What sums of such a block begin with is computed by loops, over vectors if ``vectorize_init_loop`` says so.
    """

    def __init__(self, vectorize_init_loop: bool = False) -> None:
        self.vectorize_init_loop = vectorize_init_loop

    def apply(self, sch: Schedule) -> bool:
        for rv in blocks_of(sch, with_scopes=True):
            block = sch.get_sref(rv).block
            if (name := block.annotations.get(TENSORIZE)) is None:
                continue
            sch.unannotate(rv, TENSORIZE)
            try:
                if not block.name_hint.endswith("_init"):
                    sch.tensorize(rv, str(getattr(name, "value", name)))
                elif self.vectorize_init_loop:
                    sch.vectorize(sch.get_loops(sch.get_child_blocks(rv)[0])[-1])
            except ScheduleError:
                return False
        return True


class RewriteLayout(Postproc):
    """Packs parameters of a function's ``layout_free_buffers`` as the loops of the block that reads them first go.

    The copy has the annotation of :class:`~compiler.tir.transform.RemoveWeightLayoutRewriteBlock`, which lets the
    parameters be packed before. A parameter is left as it is where its index is none of the loops, or guarded.
    """

    def apply(self, sch: Schedule) -> bool:
        self.rewrite(sch, lambda block: True)
        return True

    def rewrite(self, sch: Schedule, is_wanted: Callable[[str], bool]) -> None:
        """Pack the parameters for the blocks for which it is wanted; copies that are packed already get annotations."""
        for func in sch.mod.functions.values():
            free = func.attrs.get(_LAYOUT_FREE, ()) if isinstance(func, PrimFunc) else ()
            for at in map(int, free):
                assert isinstance(func, PrimFunc)
                _pack(sch, func.buffer_map[func.params[at]], is_wanted)


_LAYOUT_FREE = "layout_free_buffers"


def _pack(sch: Schedule, buffer: Buffer, is_wanted: Callable[[str], bool]) -> None:
    """Let the first block that reads a buffer read a copy in the order of its loops, or note that a copy is packed."""
    readers = [(rv, sch.get_sref(rv).block) for rv in blocks_of(sch)]
    rv, block = next((each for each in readers if any(r.buffer is buffer for r in each[1].reads)), (None, None))
    if rv is None or block is None or not (loops := [sch.get_sref(loop) for loop in sch.get_loops(rv)]):
        return
    if isinstance(block.body, BufferStore) and isinstance(block.body.value, BufferLoad) and not block.init:
        if sch.get_consumers(rv):  # packed by the search's rules, perhaps tile by tile
            sch.annotate(rv, LAYOUT_REWRITE, True)
        return
    realize = sch.state.realize_of(sch.get_sref(rv))
    at, region = next((n, r.region) for n, r in enumerate(block.reads) if r.buffer is buffer)
    values = {axis.var: value for axis, value in zip(block.iter_vars, realize.iter_values, strict=True)}
    indices = [substitute(part.min, values) for part in region if is_const_int(part.extent, 1)]
    if len(indices) < len(region) or not is_const_int(realize.predicate, 1):
        return
    layout = suggest_index_map(buffer, indices, [loop.loop for loop in loops], realize.predicate)
    if layout is not None and is_wanted(block.name_hint):
        sch.annotate(sch.cache_read(rv, at, "global"), LAYOUT_REWRITE, True)
        sch.transform_layout(rv, ("read", at), layout)


class NothingToDo(Postproc):
    """Is for GPUs or Hexagon."""

    def __init__(self, max_threadblocks: int = 256) -> None:
        self.max_threadblocks = max_threadblocks

    def apply(self, sch: Schedule) -> bool:
        """Return that the schedule may be a candidate."""
        return True


DisallowAsyncStridedMemCopy = RewriteCooperativeFetch = RewriteUnboundBlock = NothingToDo
VerifyGPUCode = VerifyVTCMLimit = NothingToDo
