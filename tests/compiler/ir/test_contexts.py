"""What ``with`` blocks make current belongs to one thread and one asyncio task."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import pytest

from compiler.ir.transform import PassContext
from compiler.target.target import Target
from tests.compiler.ir.tasks import run_tasks

Make = Callable[[int], AbstractContextManager[object]]
Current = Callable[[], object]

CONTEXTS = pytest.mark.parametrize(
    ("make", "current"),
    [
        pytest.param(lambda n: PassContext(opt_level=n), lambda: PassContext.current().opt_level, id="PassContext"),
        pytest.param(
            lambda n: Target(f"llvm -opt-level={n}"), lambda: getattr(Target.current(), "opt_level", 2), id="Target"
        ),
    ],
)


@CONTEXTS
def test_a_thread_does_not_see_what_another_one_entered(make: Make, current: Current) -> None:
    with ThreadPoolExecutor(1) as other, make(0):
        assert other.submit(current).result() == 2
        entered = make(3)
        other.submit(entered.__enter__).result()
        assert (current(), other.submit(current).result()) == (0, 3)
        other.submit(entered.__exit__, None, None, None).result()
        assert (current(), other.submit(current).result()) == (0, 2)


@CONTEXTS
def test_tasks_take_turns_in_contexts_of_their_own(make: Make, current: Current) -> None:
    async def task(level: int) -> list[object]:
        seen = [current()]
        with make(level):
            for _ in range(3):
                await asyncio.sleep(0)
                seen.append(current())
        return [*seen, current()]

    async def both() -> list[list[object]]:
        with make(1):
            return await asyncio.gather(task(0), task(3))

    assert run_tasks(both()) == [[1, 0, 0, 0, 1], [1, 3, 3, 3, 1]]


@CONTEXTS
def test_one_context_can_be_entered_twice(make: Make, current: Current) -> None:
    context = make(3)
    with context:
        with make(0), context:
            assert current() == 3
        assert current() == 3
    assert current() == 2
