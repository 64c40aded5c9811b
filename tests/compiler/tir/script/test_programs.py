"""Functions and modules where a file defines them: names from around, nodes as written, origins of lines, errors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.ir import diagnostics
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import Call, Div, IntImm, Ramp, SizeVar
from compiler.ir.module import IRModule
from compiler.ir.origin import OriginTable, recording
from compiler.ir.structural import assert_structural_equal
from compiler.tir import analysis
from compiler.tir.script import ScriptError, from_source, ir_module
from compiler.tir.script import tir as T
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.producer_stmt import Prefetch
from compiler.tir.statements.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    While,
)
from tests.compiler.tir.transform.programs import function, loop, nodes

EXTENT = 16


def body_of(text: str, params: str = 'A: T.Buffer((16,), "float32"), n: T.int32') -> Any:
    """Return the body of a function with the statements of ``text``."""
    lines = "\n".join("    " + line for line in text.strip("\n").split("\n"))
    return from_source(f"@T.prim_func\ndef main({params}):\n{lines}").body


def test_a_function_is_what_its_text_says() -> None:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")) -> None:
        T.func_attr({"tir.noalias": True})
        for i in range(16):
            C[i] = A[i] * 2.0

    a, c = decl_buffer((16,), name="A"), decl_buffer((16,), name="C")
    i = tir.Var("i", "int32")
    assert_structural_equal(main, function(loop(i, 16, BufferStore(c, a[i] * 2.0, (i,))), a, c))


def test_names_of_the_file_and_of_the_function_around() -> None:
    extent = 4

    @T.prim_func
    def main(A: T.Buffer((extent, EXTENT), "int8")):  # type: ignore[valid-type,no-untyped-def]
        for i, j in T.grid(extent, EXTENT):
            A[i, j] = T.int8(extent * EXTENT)

    assert [int(d) for d in main.buffer_map[main.params[0]].shape] == [4, 16]
    assert [int(n.extent) for n in nodes(main, For)] == [16, 4]
    assert [n.value.value for n in nodes(main, BufferStore)] == [64]


def test_a_slash_between_integers_truncates() -> None:
    quotients = [
        n.value for n in nodes(body_of("B = T.Buffer((4,), 'int32')\nB[0] = n / 2\nB[1] = T.Div(n, 2)"), BufferStore)
    ]
    assert [type(q) for q in quotients] == [Div, Div]
    assert_structural_equal(quotients[0], quotients[1])


def test_trailing_dimensions_of_one_element_need_no_index() -> None:
    (load,) = nodes(body_of("B = T.Buffer((4, 1, 1))\nA[0] = B[2]"), BufferLoad)
    assert [int(i) for i in load.indices] == [2, 0, 0]
    with pytest.raises(ScriptError, match="has 2 dimensions, got 1 index"):
        body_of("B = T.Buffer((4, 2))\nA[0] = B[2]")


def test_a_variable_that_python_makes_is_free() -> None:
    @T.prim_func
    def func(a: T.handle) -> None:
        offset = te.var("offset")
        A = T.match_buffer(a, (8,), elem_offset=offset)
        other = offset
        A[0] = T.cast(other, "float32")

    (buffer,) = func.buffer_map.values()
    assert isinstance(func.body, LetStmt)
    assert func.body.value is buffer.elem_offset


def test_a_declared_variable_is_bound_by_let() -> None:
    body = body_of(
        "p = T.handle('float32')\nT.attr(p, 'alignment', 64)\nwith T.LetStmt(A.data, var=p):\n    T.evaluate(p)"
    )
    assert isinstance(body, AttrStmt)
    assert isinstance(body.body, LetStmt)
    assert body.node is body.body.var


def test_a_call_of_an_unusual_type_says_so() -> None:
    func = from_source(
        "@T.prim_func\ndef f(n: T.int32):\n    T.tvm_throw_last_error(dtype='int32')\n"
        "    T.evaluate(T.exp(n, dtype='float32'))"
    )
    assert [n.dtype for n in nodes(func, Call)] == ["int32", "float32"]
    assert_structural_equal(from_source(func.script()), func)


def test_words_of_devices_and_older_names() -> None:
    func = from_source(
        "@T.prim_func\ndef f(p: T.Ptr('float32'), b: T.boolean):\n    T.ptx_commit_group()\n    T.ptx_wait_group(0)\n"
        "    T.call_cpacked('g', p, b)\n    T.evaluate(T.isinf(T.float32(1)))\n    T.evaluate(T.lookup_param('p0'))"
    )
    calls = {n.op.name.removeprefix("tir."): n.dtype for n in nodes(func, Call)}
    assert calls["ptx_commit_group"] == calls["ptx_wait_group"] == "void"
    assert calls["tvm_call_cpacked"] == "int32"
    assert calls["lookup_param"] == "handle"
    assert_structural_equal(from_source(func.script()), func)


def test_a_macro_is_read_where_it_is_used() -> None:
    step = 3

    @T.macro
    def store(A, i, value=2.0):  # type: ignore[no-untyped-def]
        A[i * step] = value

    @T.macro(hygienic=False)
    def store_at_i(A):  # type: ignore[no-untyped-def]
        A[i] = 1.0  # type: ignore[name-defined]  # noqa: F821

    @T.prim_func
    def main(A: T.Buffer((16,), "float32")):  # type: ignore[no-untyped-def]
        for i in range(4):
            store(A, i)
            store(A, i, value=5.0)
            store_at_i(A)

    @T.prim_func
    def expected(A: T.Buffer((16,), "float32")):  # type: ignore[no-untyped-def]
        for i in range(4):
            A[i * 3] = 2.0
            A[i * 3] = 5.0
            A[i] = 1.0

    assert_structural_equal(main, expected.with_attr("global_symbol", "main"))
    with pytest.raises(ArgumentError, match="may only be used as a statement in TVMScript"):
        store(None, 1)


def test_a_macro_that_uses_itself_is_refused() -> None:
    @T.macro(hygienic=False)
    def again(A):  # type: ignore[no-untyped-def]
        again(A)

    with pytest.raises(ScriptError, match="macros are nested more than 64 deep"):
        from_source("@T.prim_func\ndef f(A: T.Buffer((4,))):\n    again(A)", {"again": again})


def test_python_values_are_computed_while_a_program_is_read() -> None:
    shape, flag = [4, 8], False

    @T.prim_func
    def main(A: T.Buffer([2 * s for s in shape], "float32"), B: T.Buffer[(8,), "int32"]):  # type: ignore[no-untyped-def]  # noqa: F821, UP037
        n, m = T.meta_var((shape[0] ** 2, max(*shape)))
        if flag:
            B[9] = 1
        else:
            B[n - m - 1] = m
        for i, j in T.grid(*A.shape):
            with T.block(f"of_{len(shape)}"):
                A[i, j] = 0.0

    (first, _) = nodes(main, BufferStore)
    assert [int(d) for d in main.buffer_map[main.params[0]].shape] == [8, 16]
    assert int(first.indices[0]) == 7
    assert int(first.value) == 8
    assert "of_2" in str(main)


def test_memory_that_is_declared_without_a_pointer_is_allocated() -> None:
    body = body_of("B = T.decl_buffer((4,), 'float16', scope='shared')\nB[0] = T.float16(1)")
    assert isinstance(body, Allocate)
    assert isinstance(body.body, DeclBuffer)
    assert body.buffer_var is body.body.buffer.data
    assert "T.allocate" not in str(body)


def test_attributes_of_a_module() -> None:
    text = (
        "@I.ir_module\nclass Module:\n    I.module_attrs({'version': 1})\n    @T.prim_func\n    def f():\n        pass"
    )
    mod = from_source(text)
    assert mod.attrs["version"] == 1
    assert from_source(mod.script()).attrs["version"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(" * 300 + "1" + ")" * 300,
        "A[0] = " + "-" * 3000 + "1.0",
        "A[0] = " + "+".join(["1.0"] * 20000),
        "if n > 0:\n" + "".join(" " * i + "if n > 0:\n" for i in range(1, 99)) + " " * 99 + "pass",
        "x = 9" + "9" * 5000,
        "A[0] = __import__('os').system('true')",
        "A[0] = T.exp.func.__globals__",
        "x = T.dt.re",
        "x = T.extension_point('x')",
        "x = '{0.__class__}'.format(n)",
        "x = T.meta_var('a' * 10**10)",
        "x = T.meta_var(2 ** 10**10)",
        "x = T.meta_var(1 << 10**10)",
        "x = T.meta_var(list(range(10**10)))",
        "x = T.meta_var(sum(range(10**12)))",
        "x = T.meta_var([i for i in range(10**9)])",
        "x = T.meta_var(f'{1:9999999999}')",
        "A[n] = open('/etc/passwd')",
        "A[0] = eval('1')",
    ],
    ids=lambda text: text[:30],
)
def test_hostile_programs_end_in_a_message(text: str) -> None:
    with pytest.raises(ScriptError):
        body_of(text)


def test_a_module_has_its_functions() -> None:
    @ir_module
    class Module:
        """Two functions."""

        @T.prim_func
        def main(A: T.Buffer((EXTENT,), "float32")):  # type: ignore[valid-type,no-untyped-def]
            T.evaluate(Module.helper(A.data))

        @T.prim_func(private=True)
        def helper(p: T.handle("float32")):  # type: ignore[valid-type,no-untyped-def]
            T.evaluate(0)

    assert isinstance(Module, IRModule)
    assert sorted(var.name_hint for var in Module) == ["helper", "main"]
    assert (Module["main"].attrs, Module["helper"].attrs) == ({"global_symbol": "main"}, {})
    [call] = nodes(Module["main"], Call)
    assert call.op is Module.get_global_var("helper")
    assert_structural_equal(from_source(str(Module)), Module)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("n + 0", "n"),
        ("T.int32(1) + 2", "3"),
        ("1 * n // 1", "n"),
        ("n + 1 + 0", "n + 1"),
        ("n % 1", "0"),
        ("T.int32(8) >> 1", "4"),
        ("n << 0", "n"),
        ("T.max(T.int32(2), 3)", "3"),
        ("T.floordiv(T.int32(7), 2)", "3"),
        ("T.ceildiv(n, 4)", "(n + 4 - 1) // 4"),
        ("T.int32(2147483647) + 2", "-2147483647"),
        ("T.int32(1) < 2", "T.LT(1, 2)"),
        ("n < 1 and T.bool(True)", "T.And(n < 1, T.bool(True))"),
        ("T.Add(n, 0)", "T.Add(n, 0)"),
        ("T.Mul(1, n)", "T.Mul(1, n)"),
        ("T.Add(n + 1, 0)", "T.Add(n + 1, 0)"),
        ("T.Add(1, 2)", "T.Add(1, 2)"),
        ("T.Mod(n, 1)", "T.Mod(n, 1)"),
        ("T.Min(2, 3)", "T.Min(2, 3)"),
        ("T.FloorDiv(n, 0)", "T.FloorDiv(n, 0)"),
    ],
)
def test_arithmetic_is_folded_and_nodes_by_name_are_not(written: str, read: str) -> None:
    value = body_of(f"T.evaluate({written})").value
    assert str(value) == read
    assert_structural_equal(body_of(f"T.evaluate({read})").value, value, map_free_vars=True)


def test_a_number_has_the_type_of_the_other_operand() -> None:
    value = body_of("A[0] = T.Cast('float32', T.uint8(3) + 4) + 1").value
    assert (value.dtype, value.a.value.dtype, value.b.dtype) == ("float32", "uint8", "float32")


def test_what_holds_for_the_rest_of_a_block() -> None:
    text = """
if n > 3:
    x: T.int64 = n
    with T.LetStmt(x * 2) as y, T.attr(A.data, "fact", 1):
        A[y] = 1.0
    A[x] = 2.0
else:
    pass
while n < 3:
    B = T.decl_buffer((4,), data=A.data)
    B[0] += 1
T.prefetch(A, [T.Range(n, n + 4)])
T.evaluate(n)
"""
    body = body_of(text)
    assert isinstance(body, SeqStmt)
    branch, repeat, hint, effect = body.seq
    assert isinstance(branch, IfThenElse)
    assert isinstance(branch.then_case, LetStmt)
    [inner, last] = branch.then_case.body.seq  # type: ignore[attr-defined]
    assert (type(inner), type(inner.body), type(last)) == (LetStmt, AttrStmt, BufferStore)
    assert isinstance(repeat, While)
    assert isinstance(repeat.body, DeclBuffer)
    assert isinstance(hint, Prefetch)
    assert str(hint.bounds[0].extent).strip() == "4"
    assert isinstance(effect, Evaluate)


def test_loops_of_all_kinds() -> None:
    text = """
for i in T.serial(2, n, annotations={"unroll": T.bool(True)}):
    for j in T.parallel(T.int64(4)):
        for k in T.vectorized(4):
            for m in T.unroll(1, 3):
                for t in T.thread_binding(8, thread="threadIdx.x"):
                    A[k] = 1.0
"""
    loops = nodes(body_of(text), For)[::-1]
    assert [n.kind for n in loops] == list(ForKind)
    assert [n.loop_var.dtype for n in loops] == ["int32", "int64", "int32", "int32", "int32"]
    assert (loops[0].annotations, loops[4].thread_binding.thread_tag) == ({"unroll": True}, "threadIdx.x")
    assert isinstance(loops[3].extent, IntImm)


def test_slices_are_vectors() -> None:
    store = body_of("A[n * 4:n * 4 + 8:2] = A[T.Ramp(n, 1, 4)]")
    [index] = store.indices
    assert isinstance(index, Ramp)
    assert (index.lanes, int(index.stride)) == (4, 2)  # type: ignore[call-overload]


def test_symbolic_shapes_strides_and_offsets() -> None:
    func = from_source(
        """
from tvm.script import tir as X

@X.prim_func
def main(a: X.handle):
    n = X.int32(is_size_var=True)
    A = X.match_buffer(a, (n, 4), "float64", strides=("s", 1), offset_factor=8, scope="shared", align=128)
    A[A.strides[0], n] = X.float64("inf")
"""
    )
    buffer = func.buffer_map[func.params[0]]
    assert (buffer.scope(), buffer.data_alignment, buffer.offset_factor) == ("shared", 128, 8)
    assert isinstance(buffer.shape[0], SizeVar)
    assert not analysis.undefined_vars(func)


def test_a_matched_region_gives_its_extents_and_its_type() -> None:
    func = from_source(
        """
@T.prim_func
def main(A: T.Buffer((16, 64), "int8")):
    with T.block("b"):
        B = T.match_buffer(A[8:16, 32:64])
        T.evaluate(B[0, 0])
"""
    )
    [match] = [match for block in nodes(func, Block) for match in block.match_buffers]
    assert match.buffer.dtype == "int8"
    assert [int(extent) for extent in match.buffer.shape] == [8, 32]


def test_a_node_comes_from_its_line() -> None:
    with recording(OriginTable()) as table:

        @T.prim_func
        def main(A: T.Buffer((16,), "float32")):  # type: ignore[valid-type,no-untyped-def]
            for i in range(16):
                A[i] = A[i] + 1.0

    [store] = nodes(main, BufferStore)
    [row] = store.span
    location = table.rows[row].location
    assert location is not None
    assert (location.file, table.rows[row].label) == (__file__, "A[i] = A[i] + 1.0")
    assert store.value.span == store.span


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("A[0, 1] = 1.0", 3, "'A' has 1 dimension, got 2 indices"),
        ("num = n\nA[nun] = 1.0", 4, "the name 'nun' is not defined; did you mean 'num'?"),
        ("A[0] = T.int8(1) * B[0]", 3, "the name 'B' is not defined"),
        ("A[0] = A[1:3]", 3, "'A' has elements of float32, got float32x2"),
        ("for i in T.grid(2, 2):\n    A[i] = 1.0", 3, "expected 2 loop variables, got 1"),
        ("for i in [1, 2]:\n    A[i] = 1.0", 3, "expected range, T.serial"),
        ('for i in T.serial("1", "4"):\n    A[i] = 1.0', 3, "a loop runs over integers"),
        ("for i in T.parallel(2.5):\n    A[i] = 1.0", 3, "a loop runs over integers, got T.float32(2.5) of float32"),
        ("for i in range(0, 4, 2):\n    A[i] = 1.0", 3, "the step of a loop must be 1"),
        ("A[0] = A[1] // 2.0", 3, "operands must be integers, got float32"),
        ("A[0:n] = A[0:4]", 3, "the length of a slice must be a constant"),
        ("A[0] = 1.0 if 1 < n < 3 else 2.0", 3, "comparisons do not chain"),
        ("n += 1", 3, "variables are immutable"),
        ("with T.block('b') as x:\n    A[0] = 1.0", 3, "a block has no value"),
        ("T.reads(A[0])", 3, "T.reads must be in a block"),
        (
            "with T.block('b'):\n    T.reads(A[0])\n    T.reads(A[1])\n    A[0] = 1.0",
            5,
            "a block may have T.reads only once",
        ),
        (
            "with T.block('b'):\n    v = T.axis.S(4, 0)\n    v = T.axis.S(4, 1)\n    A[v] = 1.0",
            5,
            "already has an axis 'v'",
        ),
        ("with T.block('b'):\n    [v] = T.axis.remap('S', [n])\n    A[v] = 1.0", 4, "takes loop variables, got n"),
        ("with T.block('b'):\n    v = T.axis.S(A, n)\n    A[v] = 1.0", 4, "the domain must be an extent or a range"),
        ("with T.block('b'):\n    B = T.match_buffer(A[0:4], (5,))\n    B[0] = 1.0", 4, "has 5 elements, its region 4"),
        ("B = T.alloc_buffer('(4,)')", 3, "the shape must be a tuple of extents"),
        ("T.realize(A[0:4])", 3, "this applies to the rest of its block, and nothing follows"),
        ("A[0] = T.sqrtt(A[1])", 3, "T has no attribute 'sqrtt'; did you mean 'sqrt'?"),
        ("T.store(n, 0, 1.0)", 3, "'n' is not a pointer but a variable of int32"),
        ("x = {i: i for i in range(3)}", 3, "dictcomp is not part of TVMScript"),
        ("return", 3, "expected a value to return"),
        ("A[0:4, 0] = 1.0", 3, "'A' has 1 dimension, got 2 indices"),
        (
            "B = T.Buffer((4, 4))\nB[0:4, 0] = T.Broadcast(1.0, 4)",
            4,
            "only the last index of an access may be a vector",
        ),
        ("T.serial(3)", 3, "this statement has no effect"),
        ("T.max(1, 2)", 3, "this statement has no effect"),
        ("A.__class__", 3, "'__class__' is private"),
        ("m: T.int32", 3, "a variable needs a value"),
        ("A[0] = T.call_extern(A[1])", 3, "the data type comes first"),
        ("for i in T.thread_binding(4):\n    A[i] = 1.0", 3, 'expected thread="threadIdx.x"'),
        ("x = y = n", 3, "an assignment must have one target"),
        ("A[0] = (1.0", 3, "not Python"),
        ("A[0] = T.float32(n=1)", 3, "unexpected keyword argument 'n'"),
    ],
)
def test_an_error_names_the_line(text: str, line: int, message: str) -> None:
    with pytest.raises(ScriptError, match=re.escape(message)) as raised:
        body_of(text)
    assert raised.value.line == line
    assert str(raised.value).startswith(f"<script>:{line}: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@T.prim_func\ndef main(A):\n    pass", "'A' needs a type such as T.int32"),
        ("@T.prim_func\ndef main(n: T.int32 = 3):\n    pass", "parameters must be plain names with types"),
        ("def main(n: T.int32):\n    pass", "'main' needs the decorator @T.prim_func"),
        ("import os", "expected one function or one module"),
        ("from os import path", "a program may import from tvm.script only"),
        ("@I.ir_module\nclass Module:\n    x = 3", "a module may contain only functions, I.module_attrs and"),
    ],
)
def test_a_program_that_is_no_function(text: str, message: str) -> None:
    with pytest.raises(ScriptError, match=re.escape(message)):
        from_source(text)


def test_older_spellings() -> None:
    text = """
a = T.var("int32")
p = T.buffer_var("float32", "global")
B = T.buffer_decl((4,), data=p)
tx = T.env_thread("threadIdx.x")
T.launch_thread(tx, 4)
B[tx] = T.sqrt(A[a], dtype="float32") + T.abs(A[0])
A[0:4] = T.broadcast(1.0, 4)
A[1] = n
"""
    attr = body_of(text)
    assert isinstance(attr, AttrStmt)
    assert (attr.node.thread_tag, attr.attr_key) == ("threadIdx.x", "thread_extent")
    store, vector, converted = attr.body.seq  # type: ignore[attr-defined]
    assert store.indices == (attr.node.var,)
    assert store.value.a.dtype == "float32"
    assert vector.value.lanes == 4
    assert str(converted.value).strip() == 'T.Cast("float32", n)'


def test_a_renderer_hears_of_errors() -> None:
    messages: list[Any] = []
    diagnostics.override_renderer(messages.append)
    try:
        with pytest.raises(diagnostics.DiagnosticError):
            body_of("A[0] = 1.0\nA[0] = B[0]")
    finally:
        diagnostics.override_renderer(None)
    [context] = messages
    [message] = context.diagnostics
    assert (message.level, message.span.line, message.span.column) == (20, 4, 12)
    assert "'B' is not defined" in message.message


def test_an_error_in_a_file_shows_its_line() -> None:
    def wrong(A: T.Buffer((16,), "float32")):  # type: ignore[valid-type,no-untyped-def]
        for i in range(16):
            A[i] = B[i]  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(ScriptError, match="the name 'B' is not defined") as raised:
        T.prim_func(wrong)
    assert raised.value.file == __file__
    assert raised.value.line == wrong.__code__.co_firstlineno + 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: T.prim_func(3), "T.prim_func: expected a function, got 3"),
        (lambda: ir_module(3), "ir_module: expected a class, got 3"),  # type: ignore[arg-type]
        (lambda: from_source(""), "expected a function or a module, got neither"),
        (lambda: from_source(len), "the source of .* cannot be found"),
        (lambda: T.Let(1, {}), "expected T.Let"),
    ],
)
def test_what_is_no_program(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()


def test_the_text_of_a_function_is_its_source() -> None:
    func = from_source(
        "@T.prim_func(private=True)\ndef f(n: T.int32):\n    T.func_attr({'a': [1, 'b']})\n    T.evaluate(n)"
    )
    assert isinstance(func, PrimFunc)
    assert func.attrs == {"a": [1, "b"]}
    assert_structural_equal(from_source(func.script()), func)


def test_several_values_are_bound_at_once() -> None:
    func = from_source(
        "@T.prim_func\ndef f(A: T.Buffer((8,), 'int32')):\n    x, y = A[1], 2\n    x, y = y, x\n    A[x] = y\n"
    )
    assert isinstance(func, PrimFunc)
    values = np.arange(8, dtype="int32")
    array = tvm.nd.array(values)
    tvm.build(func)(array)
    assert array.numpy()[2] == values[1]


def test_parameters_have_names_of_their_own() -> None:
    with pytest.raises(ScriptError, match="there is already a parameter 'a'"):
        from_source("@T.prim_func\ndef f(a: T.handle, a: T.handle):\n    T.evaluate(0)")


def test_a_variable_of_an_integer_type_takes_no_float() -> None:
    with pytest.raises(ScriptError, match="'x' is of type int32, got a value of type float32"):
        body_of("x: T.int32 = 3.5\nA[x] = 1.0")
