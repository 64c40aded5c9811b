"""``tvm.meta_schedule.schedule_rule``: what is done to the blocks of a schedule, by a program or by the search's rules.

A built-in rule stands for rows of :data:`compiler.search.rules.RULES`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from compiler.classic.meta_schedule.part import Part
from compiler.classic.meta_schedule.picked_schedule import derivation_of
from compiler.ir.error import ArgumentError, expected
from compiler.ir.expr.primexpr import Call, StringImm
from compiler.runtime.modules.packed_func import get_global_func
from compiler.search.rules import RULES, Derivation, reduction
from compiler.tir.schedule.random_variables import BlockRV
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.stmt_functor import post_order_visit

if TYPE_CHECKING:
    from compiler.classic.meta_schedule.tune_context import TuneContext

ROWS = {row.name: row for row in RULES}
CUSTOM = "schedule_rule"
"""The annotation of blocks that only :class:`ApplyCustomRule` is for."""


class ScheduleRule(Part):
    """Does something to a block; a program's own rule derives from this class, or from its other name."""

    def apply(self, sch: Schedule, block: BlockRV) -> Sequence[Schedule]:
        """Return schedules in which something was done to a block, the one that was given or copies of it.

        Raises NotImplementedError in this class.
        """
        raise NotImplementedError

    def act(self, d: Derivation, rv: BlockRV, name: str) -> None:
        """Let a derivation go on with one of the schedules, the choice of which has a name.

        Raises ArgumentError if there is none.
        """
        chosen = f"{d.name(rv)}.{name}"
        made = self.apply(d.sch, rv)
        if not isinstance(made, (list, tuple)) or not all(isinstance(each, Schedule) for each in made):
            expected(f"{type(self).__name__}.apply", "its result", "a list of schedules", made)
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
        """Return a schedule in which the rule was applied to a block, by choices at random."""
        self.act(d := derivation_of(sch.copy()), block, "")
        return [d.sch]


class InlineConstantScalars(_BuiltIn):
    """Computes constants where they are read."""

    row = "inline"

    def is_for(self, sch: Schedule, rv: BlockRV) -> bool:
        """Return whether a block computes a constant."""
        return not sch.get_loops(rv) and not sch.get_sref(rv).block.reads


class AutoInline(_BuiltIn):
    """Computes what is computed element by element where it is read.

    The last parameters say of which blocks this is not done: those with conditions, and with calls of some operators.
    That only blocks without reductions are inlined, in any order of their elements, is the search's own rule.
    """

    row = "inline"

    def __init__(
        self,
        into_producer: bool,
        into_consumer: bool,
        inline_const_tensor: bool,
        disallow_if_then_else: bool,
        require_injective: bool,
        require_ordered: bool,
        disallow_op: Sequence[str] | None = None,
    ) -> None:
        self.into_consumer = into_consumer
        self._banned = {*(disallow_op or ()), *(["tir.if_then_else"] if disallow_if_then_else else [])}

    def is_for(self, sch: Schedule, rv: BlockRV) -> bool:
        """Return whether a block may be inlined."""
        calls: list[Call] = []
        body = sch.get_sref(rv).block.body
        post_order_visit(body, lambda n: calls.append(n) if isinstance(n, Call) else None)
        called = {getattr(call.op, "name", "") for call in calls}
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

    def act(self, d: Derivation, rv: BlockRV, name: str) -> None:
        if self.is_for(d.sch, rv) and not d.sch.get_child_blocks(rv):
            reduction(self.way).apply(d, rv)


class AddRFactor(Reduction):
    """Sums up in parts, of which vectors hold as many as they have lanes: the parameters are not read."""

    way = "parts"

    def __init__(self, max_jobs_per_core: int = 16, max_innermost_factor: int | None = None) -> None:
        self.max_jobs_per_core, self.max_innermost_factor = max_jobs_per_core, max_innermost_factor


class MultiLevelTiling(Reduction):
    """Tiles reductions for registers and caches, as these allow: only structure ``SSRSRS`` is known.

    The sizes of innermost tiles and what is copied follow from the registers and the accesses; ``filter_fn`` says of
    which blocks the loops are tiled. Raises ArgumentError for another structure, or one with threads.
    """

    way = "tiles"

    def __init__(
        self,
        structure: str,
        tile_binds: Sequence[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None,
        reuse_read: ReuseType | None = None,
        reuse_write: ReuseType | None = None,
        filter_fn: Callable[[Schedule, BlockRV], bool] | None = None,
    ) -> None:
        if structure != "SSRSRS" or tile_binds:
            given = f"{structure!r}{' with threads' * bool(tile_binds)}"
            raise ArgumentError(f"{type(self).__name__}: structure must be 'SSRSRS' for a processor, got {given}")
        self.structure, self.filter_fn = structure, filter_fn

    def is_for(self, sch: Schedule, rv: BlockRV) -> bool:
        """Return whether the program wants the loops of a block to be tiled."""
        return self.filter_fn is None or bool(self.filter_fn(sch, rv))


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
        """Return what the function of a block makes of a schedule."""
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


class MultiLevelTilingWithIntrin(_OfThreads):
    """Tiles for an intrinsic; refused: a rule of the program's own can ``tensorize``."""


class CrossThreadReduction(_BuiltIn):
    """Sums up across threads; on a processor, nothing."""

    def __init__(self, thread_extents: Sequence[int]) -> None:
        self.thread_extents = thread_extents

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        warnings.warn("CrossThreadReduction: the target has no threads, the rule is not applied", stacklevel=2)
