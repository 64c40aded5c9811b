"""Random schedules of programs with blocks compute what NumPy computes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from compiler.tir.schedule import Schedule, ScheduleDebugMask, ScheduleError
from compiler.tir.schedule.testing import verify_trace_roundtrip
from tests.compiler.tir.schedule.programs import PROGRAMS

STEPS = 8
SEEDS = range(8)


class RandomSteps:
    """Applies steps at random to whatever blocks and loops a schedule has.

    Parameters
    ----------
    sch : Schedule
    rng : random.Random
    """

    def __init__(self, sch: Any, rng: random.Random) -> None:
        self.sch = sch
        self.rng = rng

    def block(self) -> Any:
        return self.rng.choice(self.sch.get_child_blocks("root"))

    def loop(self) -> Any:
        return self.rng.choice(self.sch.get_loops(self.block()) or [self.sch.add_unit_loop(self.block())])

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
        self.rng.choice([self.sch.parallel, self.sch.unroll, self.sch.vectorize])(self.loop())

    def cache(self) -> None:
        make = self.rng.choice([self.sch.cache_read, self.sch.cache_write])
        make(self.block(), 0, self.rng.choice(["local", "global"]))

    def inline(self) -> None:
        self.rng.choice([self.sch.compute_inline, self.sch.reverse_compute_inline])(self.block())

    def move(self) -> None:
        move = self.rng.choice([self.sch.compute_at, self.sch.reverse_compute_at])
        move(self.block(), self.loop(), preserve_unit_loops=self.rng.random() < 0.5, index=self.rng.choice([-1, -2]))

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

    def sample(self) -> None:
        loop = self.loop()
        self.sch.split(loop, factors=self.sch.sample_perfect_tile(loop, n=2))

    def step(self) -> str:
        """Apply one step; return its name, or nothing if it was refused."""
        names = [name for name in vars(RandomSteps) if name not in ("__init__", "block", "loop", "step")]
        name = self.rng.choice([name for name in names if not name.startswith("_")])
        try:
            getattr(self, name)()
        except (ScheduleError, ValueError, IndexError, TypeError) as error:
            # What does not fit is refused: a step may be illegal, or have no loop or not as many indices to work on.
            if not isinstance(error, ScheduleError) and "expected" not in str(error) and "range" not in str(error):
                raise
            return ""
        return name


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_steps_keep_the_result(name: str, seed: int) -> None:
    program = PROGRAMS[name]
    sch: Any = Schedule(program.func, debug_mask=ScheduleDebugMask.VERIFY_SREF_TREE, seed=seed)
    steps = RandomSteps(sch, random.Random(f"{name} {seed}"))
    applied = [steps.step() for _ in range(STEPS)]
    assert sch.trace is not None
    try:
        program.check(sch, compiled=seed % 4 == 0)
    except AssertionError as error:
        raise AssertionError(f"{applied}\n{sch.trace}\n{sch.mod}") from error
    verify_trace_roundtrip(sch, program.func, text_format="json", debug_mask="none")
