"""Random steps of schedules of blocks."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from compiler.tir.schedule import Schedule, ScheduleDebugMask, ScheduleError
from compiler.tir.statements.function import PrimFunc

__all__ = ["RandomSteps", "scheduled"]

_REASONS = ("expected", "range", "read_at", "write_at", "negative", "must be", "empty sequence")
"""Words of errors about arguments that do not fit."""


class RandomSteps:
    """Applies steps at random to whatever blocks and loops a schedule has.

    Parameters
    ----------
    sch : Schedule
    rng : random.Random
    threads : bool
        Whether loops may be bound to threads, as no CPU can compute them.
    """

    def __init__(self, sch: Any, rng: random.Random, threads: bool = False) -> None:
        self.sch = sch
        self.rng = rng
        self._threads = threads

    def block(self) -> Any:
        return self.rng.choice(list(self._blocks("root")))

    def _blocks(self, around: Any) -> Iterator[Any]:
        """Yield the blocks within a block, those within them included."""
        for block in self.sch.get_child_blocks(around):
            yield block
            yield from self._blocks(block)

    def loop(self, block: Any = None) -> Any:
        block = block or self.block()
        return self.rng.choice(self.sch.get_loops(block) or [self.sch.add_unit_loop(block)])

    def _scope(self) -> str:
        return self.rng.choice(["local", "global", "shared"])

    def split(self) -> None:
        self.sch.split(self.loop(), factors=self.rng.choice([[None, 2], [3, None], [None, 5], [None, 2, 2]]))

    def fuse(self) -> None:
        loops = self.sch.get_loops(self.block())
        at = self.rng.randrange(len(loops))
        self.sch.fuse(*loops[at : at + 2])

    def reorder(self) -> None:
        loops = self.sch.get_loops(self.block())
        self.sch.reorder(*self.rng.sample(loops, self.rng.randint(1, len(loops))))

    def kind(self) -> None:
        kinds = [self.sch.parallel, self.sch.parallel, self.sch.unroll, self.sch.vectorize, self.sch.vectorize]
        if self._threads and self.rng.random() < 0.3:
            self.sch.bind(self.loop(), self.rng.choice(["threadIdx.x", "blockIdx.x"]))
        else:
            self.rng.choice(kinds)(self.loop())

    def note(self) -> None:
        self.sch.annotate(self.loop(), "pragma_auto_unroll_max_step", 4)

    def no_note(self) -> None:
        noted = [loop for loop in self.sch.get_loops(self.block()) if self.sch.get(loop).annotations]
        self.sch.unannotate(self.rng.choice(noted), "pragma_auto_unroll_max_step")

    def parts(self) -> None:
        factors: list[list[int | None]] = [[1, None], [3, None], [2, 2, None], [None, 1]]
        self.sch.loop_partition(self.loop(), self.rng.choice(factors))

    def cache(self) -> None:
        make = self.rng.choice([self.sch.cache_read, self.sch.cache_write])
        make(self.block(), self.rng.randrange(2), self._scope())

    def inline(self) -> None:
        self.rng.choice([self.sch.compute_inline, self.sch.reverse_compute_inline])(self.block())

    def move(self) -> None:
        move, others = self.rng.choice(
            [(self.sch.compute_at, self.sch.get_consumers), (self.sch.reverse_compute_at, self.sch.get_producers)]
        )
        block = self.block()
        loop = self.loop(self.rng.choice(others(block) or [self.block()]))
        move(block, loop, preserve_unit_loops=self.rng.random() < 0.5, index=self.rng.choice([-1, -2]))

    def reduction(self) -> None:
        if self.rng.random() < 0.5:
            self.sch.rfactor(self.loop(), self.rng.randint(-1, 1))
        else:
            block = self.block()
            loops = self.sch.get_loops(block) or [self.sch.add_unit_loop(block)]
            self.sch.decompose_reduction(block, self.rng.choice(loops))

    def layout(self) -> None:
        maps: list[Callable[..., Any]] = [lambda i, j: (j, i), lambda i, j: (i // 2, j, i % 2), lambda i, j: (i + j,)]
        block = self.sch.get(self.block())
        allocated = self.sch.get(self.sch.get_block("root")).alloc_buffers
        if block.reads and block.reads[0].buffer in allocated and len(block.reads[0].buffer.shape) == 2:
            self.sch.transform_layout(block.name_hint, ("read", 0), self.rng.choice(maps))
        else:
            self.sch.reindex(self.block(), (self.rng.choice(["read", "write"]), 0))

    def blockize(self) -> None:
        self.sch.blockize(self.loop(), preserve_unit_iters=self.rng.random() < 0.5)

    def in_place(self) -> None:
        self.sch.cache_inplace(self.block(), self.rng.randrange(2), self._scope())

    def indices(self) -> None:
        self.sch.cache_index(self.block(), "global", self.rng.randrange(3))

    def padding(self) -> None:
        block = self.block()
        if self.rng.random() < 0.5:
            self.sch.decompose_padding(block, self.loop(block))
        else:
            self.sch.pad_einsum(block, [self.rng.choice((1, 2, 4)) for _ in self.sch.get(block).iter_vars])

    def axes(self) -> None:
        maps: dict[int, Callable[..., Any]] = {
            1: lambda i: (i // 2, i % 2),
            2: lambda i, j: (j, i),
            3: lambda i, j, k: (i, k // 2, j, k % 2),
        }
        block = self.block()
        count = len(self.sch.get(block).iter_vars)
        self.sch.transform_block_layout(block, maps.get(count, lambda *axes: axes))

    def copy_of_axes(self) -> None:
        make = self.rng.choice([self.sch.reindex_cache_read, self.sch.reindex_cache_write])
        make(self.block(), self.rng.randrange(2), self._scope(), lambda *axes: axes[::-1])

    def copy_at(self) -> None:
        block = self.block()
        make = self.rng.choice([self.sch.read_at, self.sch.write_at])
        make(self.loop(block), block, self.rng.randrange(2), self._scope())

    def merge(self) -> None:
        self.sch.merge(self.sch.get_loops(self.block())[0], self.sch.get_loops(self.block())[0])

    def storage(self) -> None:
        if self.rng.random() < 0.5:
            self.sch.set_scope(self.block(), 0, self._scope())
        else:
            self.sch.storage_align(self.block(), 0, self.rng.choice((-2, -1, 0)), 8, self.rng.choice((0, 1)))

    def roll(self) -> None:
        self.sch.rolling_buffer(self.block(), 0)

    def sample(self) -> None:
        loop = self.loop()
        self.sch.split(loop, factors=self.sch.sample_perfect_tile(loop, n=2))

    def early(self) -> list[str]:
        """Let some loops be parallel, vectorized, unrolled or annotated, before steps that take or rebuild them."""
        return [self._tried(self.rng.choice(("kind", "kind", "kind", "note"))) for _ in range(self.rng.randint(1, 4))]

    def step(self) -> str:
        """Apply one step; return its name, or nothing if it was refused."""
        names = [name for name in vars(RandomSteps) if name not in ("block", "loop", "step", "early")]
        return self._tried(self.rng.choice([name for name in names if not name.startswith("_")]))

    def _tried(self, name: str) -> str:
        try:
            getattr(self, name)()
        except (ScheduleError, ValueError, IndexError, TypeError) as error:
            # What does not fit is rejected: a step may be illegal, or have no loop or not as many indices to work on.
            if not isinstance(error, ScheduleError) and not any(word in str(error) for word in _REASONS):
                raise
            return ""
        return name


def scheduled(func: PrimFunc, seed: int, threads: bool = False) -> tuple[Any, list[str]]:
    """Return a schedule of a function after random steps, and their names; those of steps that were refused are empty.

    Every other one begins with loops that are parallel, vectorized, unrolled or annotated.
    """
    sch: Any = Schedule(func, debug_mask=ScheduleDebugMask.VERIFY_SREF_TREE, seed=seed)
    steps = RandomSteps(sch, random.Random(seed), threads)
    return sch, [*(steps.early() if seed % 2 == 0 else []), *(steps.step() for _ in range(_STEPS))]


_STEPS = 24
