"""``#line``: the lines of the user's program in source code and in what compilers make of it."""

from __future__ import annotations

import inspect
import re

import pytest

import compiler as tvm
from compiler import te
from compiler.ir.origin import Location, OriginTable, derived_from, mint_location, recording
from compiler.ir.printing.text import TextBuilder
from compiler.target.codegen.source.line_directives import with_line_directives
from compiler.tir import Evaluate


def _source(kind: str, **config: object) -> str:
    a = te.placeholder((64, 32), name="A")
    b = te.compute((64, 32), lambda i, j: a[i, j] * 2.0, name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    s[b].bind(b.op.axis[1], te.thread_axis("threadIdx.x"))  # the last
    with tvm.transform.PassContext(config=config):
        return tvm.build(s, [a, b], kind).imported_modules[0].get_source()


@pytest.mark.parametrize("kind", ["cuda", "opencl", "metal", "webgpu"])
def test_statements_have_the_line_of_the_schedule(kind: str) -> None:
    with recording(OriginTable()):
        plain, told = _source(kind), _source(kind, **{"tir.line_directives": True})
    assert re.sub(r"#line .*\n", "", told) == plain
    if kind == "webgpu":
        assert "#line" not in told, "the language has none"
        return
    lines, first = inspect.getsourcelines(_source)
    last = first + next(number for number, line in enumerate(lines) if "# the last" in line)
    current, at = None, {}
    for line in told.splitlines():
        directive = re.fullmatch(r'#line (\d+) "(.*)"', line)
        current = (int(directive[1]) - 1) if directive else current + 1 if current is not None else None
        at[line] = current
        assert directive is None or directive[2].endswith("test_line_directives.py")
    store = next(line for line in at if " * 2.0f;" in line)
    assert at[store] == last


def test_names_of_files_do_not_end_the_directive() -> None:
    with recording(OriginTable()):
        out = TextBuilder()
        with derived_from(mint_location("file", Location('x"\n#error "y', 3))):
            statement = Evaluate(tvm.tir.const(0, "int32"))
        with out.at(statement):
            out.line("0;")
        assert [line.text for line in with_line_directives(out, "#line {line} {file}").lines] == [
            '#line 3 "x\\042\\012#error \\042y"',
            "0;",
        ]
