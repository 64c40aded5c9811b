"""What nodes inherit belongs to a thread and to an asynchronous task."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

from compiler.ir.expr.primexpr import Add, IntImm, PrimExpr, Var
from compiler.ir.functor import Mutator
from compiler.ir.origin import NO_SPAN, OriginTable, Span, active_table, current_span, derived_from, recording
from tests.compiler.ir.tasks import run_tasks

x = Var("x")


def test_threads_have_spans_of_their_own() -> None:
    inside, done = threading.Event(), threading.Event()
    spans: list[Span] = []
    table = active_table()  # an importer that names its nodes leaves one for the whole process

    def other() -> None:
        with derived_from(frozenset((2,))), recording(OriginTable()):
            inside.set()
            done.wait(10)
            spans.append(Var("y").span)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(10)
    assert current_span() == NO_SPAN
    assert active_table() is table
    with derived_from(frozenset((1,))):
        done.set()
        thread.join()
        assert Var("z").span == {1}
    assert spans == [{2}]


def test_tasks_have_spans_of_their_own() -> None:
    async def task(number: int) -> bool:
        table, span = OriginTable(), frozenset((number,))
        with recording(table), derived_from(span):
            for _ in range(5):
                await asyncio.sleep(0)
                if active_table() is not table or Var("y").span != span:
                    return False
        return current_span() == NO_SPAN

    async def main() -> list[bool]:
        return await asyncio.gather(*[task(number) for number in range(10)])

    assert all(run_tasks(main()))


def test_a_traversal_is_not_seen_in_a_copy_of_its_context() -> None:
    """A context that is copied before a traversal, and runs in another thread while it goes on, has what it had."""
    inside, done = threading.Event(), threading.Event()

    class Wait(Mutator):
        def visit_Var(self, n: Var) -> PrimExpr:
            inside.set()
            done.wait(10)
            return IntImm("int32", 1)

    def look() -> tuple[Span, Span]:
        inside.wait(10)
        before = current_span()
        visited = Mutator().visit(Add(x, x, span=frozenset((6,))))
        done.set()
        return before, visited.span

    with derived_from(frozenset((1,))):
        Mutator().visit(x)
        context = contextvars.copy_context()
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(context.run, look)
            after = Wait().visit(Add(x, IntImm("int32", 2), span=frozenset((5,))))
            assert answer.result() == ({1}, {6})
    assert after.span == {5}
