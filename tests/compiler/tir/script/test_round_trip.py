"""What the printer writes, the parser reads: the same structure, and the same text again."""

from __future__ import annotations

import contextlib
import io
import runpy
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler import alias
from compiler.driver.lower import lower
from compiler.ir.error import TVMError
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.module import IRModule
from compiler.ir.structural import assert_structural_equal
from compiler.ir.transform import PassInfo
from compiler.te.to_tir import schedule_to_prim_func
from compiler.tir.function import PrimFunc
from compiler.tir.script import from_source
from compiler.tir.stmt import ForKind
from tests.compiler.tir.transform.programs import functions
from tests.golden.test_programs import PROGRAMS
from tests.properties.te_programs import programs
from tests.properties.te_schedules import schedules

relaxed = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def assert_reads_back(program: PrimFunc | IRModule) -> None:
    """Check that the text of a program is a program of the same structure, and that its text is the same."""
    text = str(program)
    read = from_source(text)
    assert str(read) == text
    assert_structural_equal(program, read)


class ReadBack(Instrument):
    """Collects each module that a pass takes or returns, once."""

    def __init__(self) -> None:
        self.modules: dict[int, IRModule] = {}

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        self.modules[id(mod)] = mod

    run_after_pass = run_before_pass


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_programs_after_every_pass(program: Path) -> None:
    alias.install()
    seen = ReadBack()
    with instrumented(seen), contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(program), run_name="__main__")
    assert seen.modules
    for mod in seen.modules.values():
        assert_reads_back(IRModule(dict(mod.items())))  # without what makes the text one of simple mode


@given(st.data())
@relaxed
def test_random_schedules(data: st.DataObject) -> None:
    program = programs(data.draw)
    schedule = schedules(data.draw, program)
    arguments = [*program.inputs, *program.outputs]
    assert_reads_back(schedule_to_prim_func(schedule, arguments))
    with contextlib.suppress(TVMError):  # an axis to vectorize may be longer in some iterations
        assert_reads_back(lower(schedule, arguments))


@given(st.data())
@relaxed
def test_random_functions(data: st.DataObject) -> None:
    kinds = (ForKind.SERIAL, ForKind.UNROLLED, ForKind.PARALLEL)
    # In a list, as Hypothesis shows what is drawn field by field: a function's would not end.
    [func] = data.draw(functions(kinds=kinds, likely=True).map(lambda f: iter([f])))
    assert_reads_back(func)
