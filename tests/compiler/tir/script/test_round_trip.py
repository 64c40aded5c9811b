"""What the printer writes, the parser reads: the same structure, and the same text again."""

from __future__ import annotations

import contextlib
import io
import runpy
import textwrap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.classic import alias
from compiler.driver.lower import lower
from compiler.ir.error import TVMError
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.module import IRModule
from compiler.ir.structural import assert_structural_equal
from compiler.ir.transform import PassInfo
from compiler.te.lowering.to_tir import schedule_to_prim_func
from compiler.tir.script import from_source
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import ForKind
from tests.compiler.tir.transform.programs import functions
from tests.golden.test_programs import LOWERED
from tests.properties.te_programs import programs
from tests.properties.te_schedules import schedules

relaxed = settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


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


@pytest.mark.parametrize("program", LOWERED, ids=lambda p: p.stem)
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


@pytest.mark.parametrize(
    ("statements", "text"),
    [
        (
            "A = T.match_buffer(a, (8,))\nB = T.decl_buffer((8,))\nC = T.decl_buffer((4, 2), data=B.data)\n"
            "B[0] = A[0]\nC[1, 1] = B[0]",
            "C = T.decl_buffer((4, 2), data=B.data)",
        ),
        ("A = T.match_buffer(a, (4, 8), axis_separators=[1])\nA[0, 0] = 1.0", "(4, 8), axis_separators=[1])"),
        ("A = T.match_buffer(a, (4, 8), offset_factor=4)\nA[0, 0] = 1.0", "offset_factor=4)"),
        ('A = T.match_buffer(a, (1, 8), buffer_type="auto")\nA[0, 0] = 1.0', 'buffer_type="auto")'),
        (
            "n = T.int32()\nA = T.match_buffer(a, (n, 8), strides=(8, 1), elem_offset=n)\nA[0, 0] = 1.0",
            "A = T.match_buffer(a, (n, 8), strides=(8, 1), elem_offset=n)",
        ),
        (
            'with T.block("b"):\n    T.block_attr({"m": T.index_map(lambda i, j: (j, i // 2, i % 2))})\n'
            "    T.evaluate(0)",
            'T.block_attr({"m": T.index_map(lambda i, j: (j, i // T.int64(2), i % T.int64(2)))})',
        ),
        (
            'for i in T.serial(8, annotations={"m": T.index_map(lambda i: (i + 1,), index_dtype="int32")}):\n'
            "    T.evaluate(i)",
            'annotations={"m": T.index_map(lambda i_1: (i_1 + 1,), index_dtype="int32")}',
        ),
    ],
)
def test_layouts_of_buffers_and_maps_of_indices(statements: str, text: str) -> None:
    func = from_source(f"@T.prim_func\ndef main(a: T.handle):\n{textwrap.indent(statements, '    ')}")
    assert text in str(func)
    assert_reads_back(func)
