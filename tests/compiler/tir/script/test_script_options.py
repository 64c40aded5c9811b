"""``script(…)``: options of the text, and marks in it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from compiler import tir
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import Range, Var, const
from compiler.ir.module import IRModule
from compiler.ir.object_path import ObjectPath
from compiler.ir.structural import assert_structural_equal
from compiler.tir.script import from_source
from compiler.tir.script import tir as T
from compiler.tir.script.highlight import cprint
from compiler.tir.statements.block import MatchBufferRegion
from compiler.tir.statements.buffer import BufferRegion, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Evaluate, For, LetStmt

TEXT = """
@T.prim_func
def main(a: T.handle, x: T.int64):
    A = T.match_buffer(a, (8, 8))
    B = T.alloc_buffer((8, 8), "float16")
    for i, j in T.grid(8, 8):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.float16(2)
    for i, j in T.grid(8, 8):
        with T.block("c"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = T.Cast("float32", B[vi, vj]) + T.float32(1)
"""


@pytest.fixture
def func() -> Any:
    """Return a function of two blocks."""
    return from_source(TEXT)


@pytest.mark.parametrize(
    "options",
    [
        {"syntax_sugar": False},
        {"indent_spaces": 2},
        {"name": "other"},
        {"show_object_address": True},
        {"tir_prefix": "tir", "ir_prefix": "ir"},
    ],
    ids=str,
)
def test_other_spellings_read_back(func: Any, options: dict[str, Any]) -> None:
    text = func.script(**options)
    assert text != func.script()
    read = from_source(text, {"tir": T})
    assert_structural_equal(read.with_attr("global_symbol", "main"), func)


def test_without_sugar_nothing_is_implied(func: Any) -> None:
    text = func.script(syntax_sugar=False)
    assert "T.grid" not in text
    assert "remap" not in text
    assert 'with T.block("root"):' in text
    assert "a: T.handle" in text


def test_prefixes_change_words_only() -> None:
    func = from_source("@T.prim_func\ndef f(T_1: T.int32):\n    T.call_extern('int32', 'T.exp', T_1)  # T.exp")
    assert 'tir.call_extern("int32", "T.exp", T_1)' in func.script(tir_prefix="tir")


def test_no_name_hides_a_word_of_the_language() -> None:
    buffers = [decl_buffer((4,), name=name) for name in ("T", "I", "lambda", "range")]
    body = tir.SeqStmt([BufferStore(buffer, const(1.0, "float32"), [0]) for buffer in buffers])
    func = tir.PrimFunc(buffers, body).with_attr("global_symbol", "f")
    assert_structural_equal(from_source(func.script()), func)


def test_usual_data_types_are_left_out(func: Any) -> None:
    assert "B = T.alloc_buffer((T.int32(8), T.int32(8)))" in func.script(buffer_dtype="float16", int_dtype="int64")
    assert "B[vi, vj] = 2.0" in func.script(float_dtype="float16")


def test_expressions_declare_their_variables_if_asked() -> None:
    x, n = Var("x", "float32"), tir.SizeVar("n", "int64")
    assert (x * 2.0).script() == "x * T.float32(2.0)"
    assert (x * 2.0).script(verbose_expr=True) == "x = T.float32()\nx * T.float32(2.0)"
    assert n.script(verbose_expr=True) == "n = T.int64(is_size_var=True)\nn"
    a, b = decl_buffer((4, n), name="A"), decl_buffer((2,), name="B")
    assert a.script(verbose_expr=True).splitlines()[-2:] == ["A = T.Buffer((4, n))", "A"]
    region = BufferRegion(decl_buffer((4,), name="S"), [Range(0, 2)])
    assert MatchBufferRegion(b, region).script() == "S = T.Buffer((4,))\nB = T.match_buffer(S[0:2], (2,))"


def test_parts_are_underlined_with_some_lines_around(func: Any) -> None:
    path = ObjectPath.root().attr("body").attr("block").attr("body").attr("seq").array_index(1)
    lines = func.script(path_to_underline=[path], num_context_lines=1).splitlines()
    at = next(index for index, line in enumerate(lines) if "for i, j" in line)
    assert lines[0].startswith("(... ")
    assert lines[1].endswith("B[vi, vj] = T.float16(2.0)")
    assert lines[at + 1] == "    " + "^" * len("for i, j in T.grid(8, 8):")
    loop = func.body.block.body.seq[1]
    assert func.script(obj_to_underline=[loop], num_context_lines=1).splitlines() == lines
    assert sum("^" in line for line in func.script(obj_to_underline=[loop]).splitlines()) == 6


def test_an_expression_is_underlined_where_it_stands(func: Any) -> None:
    store = func.body.block.body.seq[1].body.body.block.body
    lines = func.script(obj_to_underline=[store.value.a]).splitlines()
    at = next(index for index, line in enumerate(lines) if "^" in line)
    start = lines[at].index("^")
    assert lines[at - 1][start : len(lines[at])] == 'T.Cast("float32", B[vi, vj])'


def test_functions_and_modules_are_underlined_whole_and_parts_without_text_by_what_holds_them(func: Any) -> None:
    mod = IRModule({"main": func})
    root = ObjectPath.root()

    def underlined(thing: Any, path: ObjectPath) -> list[str]:
        lines = thing.script(path_to_underline=[path]).splitlines()
        return [above for above, below in pairwise(lines) if below.strip() and not below.strip("^ ")]

    rest = [line for line in mod.script().splitlines() if line.strip() and not line.strip().startswith("#")]
    assert underlined(mod, root) == rest
    of_function = underlined(mod, root.attr("functions").map_value(mod.get_global_var("main")))
    assert of_function == rest[2:]
    assert of_function[0] == "    @T.prim_func"
    loop = root.attr("body").attr("block").attr("body").attr("seq").array_index(1)
    assert underlined(func, loop.attr("extent").attr("value")) == underlined(func, loop)


def test_remarks_stand_above_statements_with_others_inside_and_behind_others(func: Any) -> None:
    (loop, other) = func.body.block.body.seq
    store = other.body.body.block.body
    assert "# note" in [line.strip() for line in func.script(obj_to_annotate={other.body: "note"}).splitlines()]
    [line] = [line for line in func.script(obj_to_annotate={store: "note"}).splitlines() if "note" in line]
    assert line.endswith("  # note")
    lines = [line.strip() for line in func.script(obj_to_annotate={store: "two\nlines"}).splitlines()]
    assert lines[lines.index("# two") + 1] == "# lines"
    assert isinstance(loop, For)
    lines = func.script(obj_to_annotate={loop: "first"}).splitlines()
    assert lines[lines.index("    # first") + 1] == "    for i, j in T.grid(8, 8):"
    mod = IRModule({"main": func})
    path = ObjectPath.root().attr("functions").map_value(mod.get_global_var("main"))
    lines = mod.script(path_to_annotate={path: "all"}).splitlines()
    assert lines[lines.index("    # all") + 1].startswith("    def main(")
    with pytest.raises(ArgumentError, match=r"script: there is no <root>\.functions"):
        mod.script(path_to_underline=[ObjectPath.root().attr("functions").array_index(7)])


def test_lines_have_numbers(func: Any) -> None:
    lines = func.script(print_line_numbers=True).splitlines()
    assert lines[0].startswith(" 1 #")
    assert [int(line[:2]) for line in lines] == list(range(1, len(lines) + 1))


def test_scripts_on_the_console(capsys: pytest.CaptureFixture[str]) -> None:
    cprint(IRModule({}))
    cprint("text", style="light")
    assert capsys.readouterr().out == f"{IRModule({}).script()}\ntext\n"
    with pytest.raises(TypeError, match="method `script`, got 3"):
        cprint(3)


def test_ranges_stand_in_the_module_of_all_levels() -> None:
    assert Range(0, 10).script() == "I.Range(0, 10)"


def test_variables_within_expressions_are_declared() -> None:
    x, n = Var("x", "int32"), Var("n", "int32")
    e = tir.Let(x, n + 1, x * x)
    assert e.script(verbose_expr=True).split("\n") == [
        "n = T.int32()",
        "x = T.int32()",
        "T.Let(x * x, where={x: n + 1})",
    ]
    func = tir.PrimFunc([n], tir.Evaluate(e))
    assert_structural_equal(from_source(func.script()), func)


def test_slices_without_ends_are_whole_dimensions() -> None:
    written, whole = (
        from_source(
            f"""
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i in range(8):
        with T.block("b"):
            v = T.axis.spatial(8, i)
            T.reads(A[v, {columns}], A[{rows}, 3:])
            T.writes(B[{rows}, {columns}])
            C = T.match_buffer(A[{rows}, 8:], (8, 8))
            B[v, 0] = C[v, 1]
"""
        )
        for rows, columns in ((":", ":"), ("0:8", "0:16"))
    )
    assert_structural_equal(written, whole)
    region = written.body.block.body.body.block.reads[1].region
    assert [(r.min.value, r.extent.value) for r in region] == [(0, 8), (3, 13)]


def test_true_and_false_are_numbers_where_an_integer_is_asked_for() -> None:
    assert tir.IntImm("int32", True).script() == "1"
    assert type(tir.IntImm("int64", False).value) is int


def test_what_is_annotated_holds_for_a_block_of_its_own() -> None:
    x, y = Var("x", "int32"), Var("y", "int32")
    inner = LetStmt(y, x + 1, Evaluate(y - 1))
    func = PrimFunc([], LetStmt(x, const(1), inner))
    text = func.script(obj_to_annotate={func.body: "outer", inner: "inner"})
    assert text.splitlines()[4:] == [
        "    # outer",
        "    with T.LetStmt(1) as x:",
        "        # inner",
        "        with T.LetStmt(x + 1) as y:",
        "            T.evaluate(y - 1)",
    ]
