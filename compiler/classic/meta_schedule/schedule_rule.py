"""``tvm.meta_schedule.schedule_rule``: what is done to the blocks of a schedule, by a program or by the search's rules.

A built-in rule stands for rows of :data:`compiler.search.rules.RULES`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from compiler.classic.meta_schedule.part import Part
from compiler.classic.meta_schedule.picked_schedule import derivation_of
from compiler.ir.error import ArgumentError, undefined
from compiler.ir.expr.primexpr import Call, StringImm
from compiler.ir.functor import nodes_of
from compiler.runtime.modules.packed_func import get_global_func
from compiler.search.blocks import block_facts
from compiler.search.parts import schedules_of
from compiler.search.rules import RULES, Derivation, are_reduced, reduction
from compiler.tir.expressions.intrin_registry import TensorIntrin
from compiler.tir.schedule.facts.loop_mapping import get_tensorize_loop_mapping, innermost
from compiler.tir.schedule.random_variables import BlockRV, LoopRV
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.block import Block

if TYPE_CHECKING:
    from compiler.classic.meta_schedule.tune_context import TuneContext

ROWS = {row.name: row for row in RULES}
TENSORIZE = "meta_schedule.auto_tensorize"
CUSTOM = "schedule_rule"
"""The annotation of blocks that only :class:`ApplyCustomRule` is for."""


class ScheduleRule(Part):
    """Does something to a block; a program's own rule derives from this class, or from its other name."""

    def apply(self, sch: Schedule, block: BlockRV) -> Sequence[Schedule]:
        """Return schedules in which something was done to a block, the one that was given or copies of it."""
        undefined(self, "apply")

    def act(self, d: Derivation, rv: BlockRV, name: str) -> None:
        """Let a derivation go on with one of the schedules, the choice of which has a name.

        Raises ArgumentError if there is none.
        """
        chosen = f"{d.name(rv)}.{name}"
        made = schedules_of(self, "apply", self.apply(d.sch, rv))
        if not made:
            raise ArgumentError(f"{type(self).__name__}.apply: no schedule is left")
        d.sch = made[d.choose(chosen, range(len(made)))]

    @staticmethod
    def create(kind: str) -> list[ScheduleRule]:
        """Return the rules for a processor, which ``kind`` calls ``llvm``."""
        require_llvm("ScheduleRule.create", kind)
        return [
            ApplyCustomRule(), InlineConstantScalars(), AutoInline(False, True, True, True, True, True, ["tir.exp"]),
            AddRFactor(), MultiLevelTiling("SSRSRS"), ParallelizeVectorizeUnroll(unroll_max_steps=[0, 16, 64, 512]),
            RandomComputeLocation(),
        ]  # fmt: skip


PyScheduleRule = ScheduleRule


def require_llvm(name: str, kind: object) -> None:
    """Refuse what is not for processors.

    Raises ArgumentError for another kind than ``llvm``.
    """
    if kind != "llvm":
        raise ArgumentError(f"{name}: schedules are searched for processors, kind must be 'llvm', got {kind!r}")


class _BuiltIn(ScheduleRule):
    """A rule of the search."""

    row: ClassVar[str] = ""

    def is_for(self, sch: Schedule, rv: BlockRV) -> bool:
        """Return whether the rule is for a block."""
        return True

    def act(self, d: Derivation, rv: BlockRV, name: str) -> None:
        if self.row and self.is_for(d.sch, rv) and not d.sch.get_child_blocks(rv):
            ROWS[self.row].apply(d, rv)

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        self.act(d := derivation_of(sch.copy()), block, "")
        return [d.sch]


class InlineConstantScalars(_BuiltIn):
    """Computes constants where they are read."""

    row = "inline"

    def is_for(self, sch: Schedule, rv: BlockRV) -> bool:
        return not sch.get_loops(rv) and not sch.get_sref(rv).block.reads


class AutoInline(_BuiltIn):
    """Computes what is computed element by element where it is read.

    The last parameters say of which blocks this is not done: those with conditions, and with calls of some operators.
    That only blocks without reductions are inlined, in any order of their elements, is the search's own rule.
    """

    row = "inline"

    def __init__(
        self, into_producer: bool, into_consumer: bool, inline_const_tensor: bool, disallow_if_then_else: bool,
        require_injective: bool, require_ordered: bool, disallow_op: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        self.into_consumer = into_consumer
        self._banned = {*(disallow_op or ()), *(["tir.if_then_else"] if disallow_if_then_else else [])}

    def is_for(self, sch: Schedule, rv: BlockRV) -> bool:
        called = {getattr(call.op, "name", "") for call in nodes_of(sch.get_sref(rv).block.body, Call)}
        return self.into_consumer and not called & self._banned


class ReuseType(NamedTuple):
    """What is copied to be near, and at which levels of tiles."""

    req: str
    levels: Sequence[int]
    scope: str

    def as_dict(self) -> dict[str, object]:
        """Return the fields by their names."""
        return self._asdict()


class Reduction(_BuiltIn):
    """Changes the loops of reductions, one way or another."""

    way: ClassVar[str] = ""
    is_own = True
    """Whether the search's own rule does it."""

    def act(self, d: Derivation, rv: BlockRV, name: str) -> None:
        if self.is_for(d.sch, rv) and not d.sch.get_child_blocks(rv):
            reduction(self.way).apply(d, rv)


class AddRFactor(Reduction):
    """Sums up in parts, of which vectors hold as many as they have lanes: the parameters are not read."""

    way = "parts"

    def __init__(self, max_jobs_per_core: int = 16, max_innermost_factor: int | None = None) -> None:
        self.max_jobs_per_core, self.max_innermost_factor = max_jobs_per_core, max_innermost_factor


class MultiLevelTiling(Reduction):
    """Tiles reductions: for registers and caches as these allow if the structure is ``SSRSRS``, else by sampled sizes.

    What is copied follows from the accesses; ``filter_fn`` says of which blocks the loops are tiled. Raises
    ArgumentError if loops are to be bound to threads.
    """

    way = "tiles"

    def __init__(
        self, structure: str, tile_binds: Sequence[str] | None = None, max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None, reuse_read: ReuseType | None = None,
        reuse_write: ReuseType | None = None, filter_fn: Callable[[Schedule, BlockRV], bool] | None = None,
    ) -> None:  # fmt: skip
        if tile_binds:
            raise ArgumentError(f"{type(self).__name__}: tile_binds must be left out, a processor has no threads")
        self.structure, self.filter_fn, self._most = structure, filter_fn, max_innermost_factor or 64
        self.is_own = structure == "SSRSRS"

    def is_for(self, sch: Schedule, rv: BlockRV) -> bool:
        return self.filter_fn is None or bool(self.filter_fn(sch, rv))

    def act(self, d: Derivation, rv: BlockRV, name: str) -> None:
        if self.is_own:
            super().act(d, rv, name)
        elif not d.sch.get_child_blocks(rv) and self.is_for(d.sch, rv):
            facts = block_facts(d.sch, rv)
            if facts is not None and facts.is_sum:
                self._tile(d, rv, [])

    def _tile(self, d: Derivation, rv: BlockRV, inner: Sequence[LoopRV]) -> None:
        """Split the loops of a block into the levels of the structure, outside of some of them."""
        loops = [loop for loop in d.sch.get_loops(rv) if d.sch.get_sref(loop) not in map(d.sch.get_sref, inner)]
        levels: list[list[LoopRV]] = [[] for _ in self.structure]
        for loop, is_reduced in zip(loops, are_reduced(d, rv, loops), strict=True):
            places = [at for at, kind in enumerate(self.structure) if kind == "SR"[is_reduced]]
            sizes = d.sch.sample_perfect_tile(loop, n=len(places), max_innermost_factor=self._most)
            for at, part in zip(places, d.sch.split(loop, sizes), strict=True):
                levels[at].append(part)
        d.sch.reorder(*(loop for level in levels for loop in level), *inner)


class MultiLevelTilingWithIntrin(MultiLevelTiling):
    """Tiles what an intrinsic can compute by sampled sizes, and annotates it for ``RewriteTensorize``."""

    def __init__(self, intrin_name: str, structure: str, *args: Any, **options: Any) -> None:
        super().__init__(structure, *args, **options)
        self.intrin, self.intrin_name, self.is_own = TensorIntrin.get(intrin_name), intrin_name, False

    def act(self, d: Derivation, rv: BlockRV, name: str) -> None:
        if self.intrin is None or d.sch.get_child_blocks(rv) or not self.is_for(d.sch, rv):
            return
        found, (wanted, _) = get_tensorize_loop_mapping(d.sch, rv, self.intrin.desc), innermost(self.intrin.desc.body)
        is_alike = wanted is not None and _dtypes(wanted.block) == _dtypes(d.sch.get_sref(rv).block)
        if found is None or found.block_iter_paddings or not is_alike:
            return
        inner: dict[int, LoopRV] = {}
        for loop, partner in [(each, found.loop_map.get(d.sch.get_sref(each))) for each in d.sch.get_loops(rv)]:
            if partner is not None:
                inner[found.desc_loop_indexer[partner]] = d.sch.split(loop, [None, partner.extent])[1]
        parts = [inner[at] for at in sorted(inner)]
        self._tile(d, rv, parts)
        d.sch.annotate(d.sch.blockize(parts[0]), TENSORIZE, self.intrin_name)


def _dtypes(block: Block) -> set[str]:
    return {region.buffer.dtype for region in (*block.reads, *block.writes)}


class MultiLevelTilingWideVector(MultiLevelTiling):
    """Tiles reductions for registers of the target's size."""

    def __init__(
        self,
        structure: str,
        vector_length_in_bits: int,
        max_innermost_factor: int | None = None,
        reuse_read: ReuseType | None = None,
        reuse_write: ReuseType | None = None,
    ) -> None:
        super().__init__(structure, None, max_innermost_factor, None, reuse_read, reuse_write)


class RandomComputeLocation(_BuiltIn):
    """Computes blocks near those that read them."""

    row = "locate"


class ParallelizeVectorizeUnroll(_BuiltIn):
    """Annotates the root with what ``RewriteParallelVectorizeUnroll`` does; -1 of the first two is not to do it."""

    def __init__(
        self,
        max_jobs_per_core: int = 16,
        max_vectorize_extent: int = 16,
        unroll_max_steps: Sequence[int] | None = None,
        unroll_explicit: bool = True,
    ) -> None:
        self._jobs, self._lanes = max_jobs_per_core, max_vectorize_extent
        self._steps, self._unroll = list(unroll_max_steps or ()), "explicit" if unroll_explicit else "implicit"

    def act(self, d: Derivation, rv: BlockRV, name: str) -> None:
        if d.sch.get_sref(rv).parent is not None:
            return
        if self._jobs != -1:
            d.sch.annotate(rv, "meta_schedule.parallel", self._jobs * d.machine.cores)
        if self._lanes != -1:
            d.sch.annotate(rv, "meta_schedule.vectorize", self._lanes)
        if self._steps:
            steps = d.sch.sample_categorical(self._steps, [1 / len(self._steps)] * len(self._steps))
            d.sch.annotate(rv, f"meta_schedule.unroll_{self._unroll}", steps)


class ApplyCustomRule(ScheduleRule):
    """Applies registered functions to blocks that an annotation ``schedule_rule`` says them of.

    ``meta_schedule.KEY.NAME`` takes a schedule and the block, and returns schedules; the key is one of the target's.
    """

    _keys: Sequence[str] = ("cpu",)

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._keys = context.target.keys

    def apply(self, sch: Schedule, block: BlockRV) -> Sequence[Schedule]:
        name = custom_rule(sch, block)
        for key in self._keys if name not in ("", "None") else ():
            if (function := get_global_func(f"meta_schedule.{key}.{name}", allow_missing=True)) is not None:
                made: Sequence[Schedule] = function(sch, block)
                return made
        if name not in ("", "None"):
            asked = ", ".join(f"meta_schedule.{key}.{name}" for key in self._keys)
            warnings.warn(f"ApplyCustomRule: no function is registered as {asked}", stacklevel=2)
        return [sch]


def custom_rule(sch: Schedule, rv: BlockRV) -> str:
    """Return the name of the only rule for a block, empty if it has none."""
    value = sch.get_sref(rv).block.annotations.get(CUSTOM, "")
    return str(value.value if isinstance(value, StringImm) else value)


class _OfThreads(_BuiltIn):
    """Is refused where it is asked for: a processor has nothing of the kind."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__()

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        raise ArgumentError(f"{type(self).__name__}: target {context.target} has no threads and matrix units for it")


class AutoBind(_OfThreads):
    """Binds loops to threads; refused, since schedules are searched for processors."""


class MultiLevelTilingTensorCore(_OfThreads):
    """Tiles for the matrix units of GPUs; refused, since schedules are searched for processors."""


class CrossThreadReduction(_BuiltIn):
    """Sums up across threads; on a processor, nothing."""

    def __init__(self, thread_extents: Sequence[int]) -> None:
        self.thread_extents = thread_extents

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        warnings.warn("CrossThreadReduction: the target has no threads, the rule is not applied", stacklevel=2)
