"""Instruments: who hears of what, in which thread or task."""

from __future__ import annotations

import asyncio
import threading

import pytest

from compiler.ir.expr.primexpr import IntImm
from compiler.ir.instrument import (
    Instrument,
    active_instruments,
    first_answer,
    instrumented,
    report_rewrite,
    uninstrumented,
)
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext, PassInfo, module_pass
from tests.compiler.ir.tasks import run_tasks


@module_pass(opt_level=0, name="nothing")
def nothing(mod: IRModule, ctx: PassContext) -> IRModule:
    return mod


class Passes(Instrument):
    def __init__(self) -> None:
        self.names: list[str] = []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self.names.append(info.name)


def in_another_thread() -> tuple[Instrument, ...]:
    seen: list[tuple[Instrument, ...]] = []
    thread = threading.Thread(target=lambda: seen.append(active_instruments()))
    thread.start()
    thread.join()
    return seen[0]


def test_an_instrument_sees_the_passes_of_every_context() -> None:
    passes = Passes()
    with instrumented(passes):
        nothing(IRModule())
        with PassContext(opt_level=3):
            nothing(IRModule())
    nothing(IRModule())
    assert passes.names == ["nothing", "nothing"]


def test_instruments_belong_to_a_thread_unless_the_whole_process_is_meant() -> None:
    own, shared = Instrument(), Instrument()
    with instrumented(own), instrumented(shared, process_wide=True):
        assert active_instruments() == (own, shared)
        assert in_another_thread() == (shared,)
    assert active_instruments() == in_another_thread() == ()


def test_instruments_belong_to_a_task() -> None:
    async def work(instrument: Instrument) -> tuple[Instrument, ...]:
        with instrumented(instrument):
            await asyncio.sleep(0)
            return active_instruments()

    async def both() -> list[tuple[Instrument, ...]]:
        return list(await asyncio.gather(work(first), work(second)))

    first, second = Instrument(), Instrument()
    assert run_tasks(both()) == [(first,), (second,)]


def test_uninstrumented_work_is_not_told() -> None:
    with instrumented(shared := Instrument(), process_wide=True), instrumented(Instrument()):
        with uninstrumented():
            assert active_instruments() == ()
            with instrumented(inner := Instrument()):
                assert active_instruments() == (inner,)
        assert active_instruments()[0] is shared


def test_instruments_are_forgotten_where_the_block_fails() -> None:
    with pytest.raises(ValueError, match="wrong"), instrumented(Instrument(), process_wide=True):
        raise ValueError("wrong")
    assert active_instruments() == ()


def test_only_instruments_of_rewrites_hear_of_rewrites() -> None:
    class Rewrites(Instrument):
        def __init__(self) -> None:
            self.pairs: list[tuple[object, object]] = []

        def node_rewritten(self, before: object, after: object) -> None:
            self.pairs.append((before, after))

    one, two = IntImm("int32", 1), IntImm("int32", 2)
    with instrumented(Instrument(), rewrites := Rewrites()):
        report_rewrite(one, two)
    assert rewrites.pairs == [(one, two)]


def test_nobody_is_asked_after_the_first_answer() -> None:
    answers = iter([None, 0, 1])
    assert first_answer(answers) == 0
    assert next(answers) == 1
    assert first_answer(iter([None])) is None
