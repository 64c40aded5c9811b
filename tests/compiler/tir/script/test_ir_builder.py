"""Programs that the builder makes, against the same programs as the parser reads them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compiler.classic.tir.script_builder import IRBuilder
from compiler.classic.tir.script_builder import frame as frames
from compiler.classic.tir.script_builder import ir as I
from compiler.classic.tir.script_builder import tir as T
from compiler.classic.tir.script_builder.frame import DETECT_ACCESS
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.ir.structural import assert_structural_equal
from compiler.tir.script import from_source
from compiler.tir.statements.block import BlockRealize
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import SeqStmt


def loops() -> None:
    A = T.arg("A", T.Buffer((4, 8, 16), "int32"))
    with (
        T.serial(4) as i,
        T.parallel(1, 8) as j,
        T.vectorized(16) as k,
        T.unroll(2, annotations={"x": 1}),
        T.thread_binding(2, thread="threadIdx.x"),
    ):
        T.buffer_store(A, i + j, [i, j, k])


LOOPS = """
    for i in range(4):
        for j in T.parallel(1, 8):
            for k in T.vectorized(16):
                for u in T.unroll(2, annotations={"x": 1}):
                    for t in T.thread_binding(2, thread="threadIdx.x"):
                        A[i, j, k] = i + j
"""


def blocks() -> None:
    A = T.arg("A", T.Buffer((8, 8)))
    B = T.arg("B", T.Buffer((8,)))
    C = T.alloc_buffer((8, 8))
    with T.grid(8, 8) as (i, j), T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.where(i + j < 12)
        T.block_attr({"note": 3})
        T.buffer_store(C, A[vi, vj] * 2.0, [vi, vj])
    with T.grid(8, 8) as (i, j), T.block("B"):
        vi = T.axis.spatial(8, i)
        vj = T.axis.reduce((0, 8), j)
        T.reads(C[vi, vj])
        with T.init():
            T.buffer_store(B, 0, [vi])
        part = T.match_buffer(C[vi, vj], ())
        T.buffer_store(B, B[vi] + part[()], [vi])


BLOCKS = """
    C = T.alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i + j < 12)
            T.block_attr({"note": 3})
            C[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            vj = T.axis.reduce((0, 8), j)
            T.reads(C[vi, vj])
            with T.init():
                B[vi] = 0
            part = T.match_buffer(C[vi, vj], ())
            B[vi] = B[vi] + part[()]
"""


def scopes() -> None:
    n = T.arg("n", T.int32())
    a = T.arg("a", T.handle())
    A = T.match_buffer(a, (n, 4))
    T.func_attr({"tir.noalias": True})
    with T.allocate([n], "float32", "local") as p, T.decl_buffer((n,), data=p, scope="local") as q:
        with T.While(q[0] < 1.0):
            T.buffer_store(q, 2, [T.int32(0)])
        with T.If(n > 4):
            with T.Then():
                T.evaluate(T.call_extern("int32", "f", 1))
            with T.Else():
                T.buffer_store(A, 1, [n - 1, slice(0, 4)])
        with T.attr(A, "key", 3), T.Assert(n > 0, "empty"), T.LetStmt(n * 2) as m:
            T.evaluate(m)
        with T.launch_thread("threadIdx.x", 4) as tx:
            T.evaluate(tx)
        thread = T.env_thread("blockIdx.y")
        with T.launch_thread(thread, 2) as by, T.realize(A[0:1, 0:4]):
            T.prefetch(A, [T.Range(0, 1), T.Range(0, 4)])
            T.evaluate(by)


SCOPES = """
    A = T.match_buffer(a, (n, 4))
    T.func_attr({"tir.noalias": True})
    with T.allocate([n], "float32", "local") as p:
        q = T.decl_buffer((n,), data=p, scope="local")
        while q[0] < 1.0:
            q[0] = 2
        if n > 4:
            T.evaluate(T.call_extern("int32", "f", 1))
        else:
            A[n - 1, 0:4] = 1
        with T.attr(A, "key", 3):
            with T.Assert(n > 0, "empty"):
                with T.LetStmt(n * 2) as m:
                    T.evaluate(m)
        with T.launch_thread("threadIdx.x", 4) as tx:
            T.evaluate(tx)
        with T.launch_thread("blockIdx.y", 2) as by:
            with T.realize(A[0:1, 0:4]):
                T.prefetch(A, [T.Range(0, 1), T.Range(0, 4)])
                T.evaluate(by)
"""

PROGRAMS: list[tuple[Callable[[], None], str, str]] = [
    (loops, 'A: T.Buffer((4, 8, 16), "int32")', LOOPS),
    (blocks, "A: T.Buffer((8, 8)), B: T.Buffer((8,))", BLOCKS),
    (scopes, "n: T.int32, a: T.handle", SCOPES),
]


@pytest.mark.parametrize(("build", "parameters", "body"), PROGRAMS, ids=["loops", "blocks", "scopes"])
def test_a_program_is_what_the_parser_reads(build: Callable[[], None], parameters: str, body: str) -> None:
    with IRBuilder() as builder, T.prim_func():
        T.func_name("main")
        build()
    expected = from_source(f"@T.prim_func\ndef main({parameters}):{body}")
    assert_structural_equal(builder.get(), expected)


def test_the_words_are_the_parsers_as_well() -> None:
    func = from_source("""
@T.prim_func
def main(A: T.buffer((8, 8))):
    T.buffer_store(A, 1, [2, T.int32(3)])
    T.evaluate(T.call_intrin("float32", "tir.exp", A[0, 0]))
""")
    expected = from_source("""
@T.prim_func
def main(A: T.Buffer((8, 8))):
    A[2, 3] = 1
    T.evaluate(T.exp(A[0, 0]))
""")
    assert_structural_equal(func, expected)


def test_a_module() -> None:
    with IRBuilder() as builder, I.ir_module():
        with T.prim_func():
            T.func_name("callee")
            T.evaluate(1)
        I.module_attrs({"version": 2})
        stand_in = PrimFunc((), T.words.evaluate(0))
        caller = I.decl_function("caller", stand_in)
        I.def_function("caller", PrimFunc((), T.words.evaluate(2)))
        assert I.module_get_attr("version") == 2
        assert I.module_get_attrs() == {"version": 2}
        with pytest.raises(ArgumentError, match="already has an attribute 'version'"):
            I.module_set_attr("version", 3)
        with pytest.raises(ArgumentError, match="already has a function 'caller'"):
            I.decl_function("caller", stand_in)
        with pytest.raises(ArgumentError, match="'unknown' is not declared"):
            I.def_function("unknown", stand_in)
    mod = builder.get()
    assert isinstance(mod, IRModule)
    assert [var.name_hint for var in mod.get_global_vars()] == ["callee", "caller"]
    assert mod[caller].body.value.value == 2
    assert mod.attrs["version"] == 2


def test_statements_without_a_function() -> None:
    with IRBuilder() as builder, T.block("b"):
        T.reads()
        T.evaluate(0)
    realize = builder.get()
    assert isinstance(realize, BlockRealize)
    assert realize.block.annotations[DETECT_ACCESS].value == 2
    with IRBuilder() as builder, T.serial(3) as i:
        T.evaluate(i)
        T.evaluate(i + 1)
    assert isinstance(builder.get().body, SeqStmt)


def test_words_open_the_frames_that_are_named_after_them() -> None:
    with IRBuilder(), T.prim_func():
        opened = {
            "AllocateFrame": T.allocate([8], "float32", "global"),
            "AllocateConstFrame": T.allocate_const([1.0, 2.0], "float32", [2]),
            "AssertFrame": T.Assert(T.bool(True), "always"),
            "AttrFrame": T.attr(T.handle(), "key", 1),
            "DeclBufferFrame": T.decl_buffer([8], "float32"),
            "LaunchThreadFrame": T.launch_thread("threadIdx.x", 8),
            "LetFrame": T.LetStmt(T.int32(1)),
            "RealizeFrame": T.realize(T.Buffer((8,), "float32")[0:8], "global"),
        }
    for name, frame in opened.items():
        assert type(frame) is getattr(frames, name)
        assert isinstance(frame, frames.TIRFrame)


def test_names() -> None:
    with IRBuilder() as builder, T.grid(2, 3) as axes:
        assert IRBuilder.is_in_scope()
        assert IRBuilder.current() is builder
        IRBuilder.name_many(["x", "y"], axes)
        T.evaluate(IRBuilder.name("n", T.int32()) + axes[0])
    assert "for x, y in T.grid(2, 3):" in str(builder.get())
    assert "T.evaluate(n + x)" in str(builder.get())
    assert not IRBuilder.is_in_scope()


def test_callbacks_run_when_a_frame_is_left() -> None:
    with IRBuilder() as builder, T.serial(2):
        outer = builder.frames[-1]
        inner = T.attr("x", "key", 1)
        inner.__enter__()
        outer.add_callback(lambda: inner.__exit__(None, None, None))
        T.evaluate(1)
    assert builder.get().body.attr_key == "key"


def then_outside() -> None:
    with T.Then():
        pass


def statement_in_if() -> None:
    with T.If(T.int32() < 1):
        T.evaluate(0)


def where_twice() -> None:
    with T.block("b"):
        T.where(True)
        T.where(False)


def two_results() -> None:
    T.evaluate(0)
    T.evaluate(1)


def nameless() -> None:
    with I.ir_module(), T.prim_func():
        T.evaluate(0)


def named_twice() -> None:
    with T.prim_func():
        T.func_name("f")
        T.func_name("g")


def function_in_a_loop() -> None:
    with T.serial(2), T.prim_func():
        T.func_name("f")


def foreign_parameter() -> None:
    with T.prim_func():
        T.match_buffer(T.handle(), (4,))


MISTAKES: dict[Callable[[], object], str] = {
    then_outside: "T.Then: must be directly inside of T.If",
    statement_in_if: "statements must be in T.Then or T.Else",
    where_twice: "duplicate declaration, the previous one is",
    two_results: "the result has already been set",
    nameless: "expected T.func_name",
    named_twice: "the function is already named 'f'",
    function_in_a_loop: "ForFrame: takes no PrimFunc",
    foreign_parameter: "expected a parameter of the function",
    lambda: T.reads(): "must be called at the top of a T.block",
    lambda: T.init().__enter__().__exit__(None): "T.init: must be directly inside of T.block",
    lambda: T.func_attr({}): "must be inside of T.prim_func",
    lambda: I.module_attrs({}): "must be inside of I.ir_module",
}


@pytest.mark.parametrize(("mistake", "message"), MISTAKES.items(), ids=list(MISTAKES.values()))
def test_mistakes(mistake: Callable[[], object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message), IRBuilder():
        mistake()


def test_a_function_without_a_name_is_private() -> None:
    with IRBuilder() as builder, T.prim_func():
        T.evaluate(1)
    assert builder.get().attrs == {}


def test_a_private_function_of_a_module_has_its_name() -> None:
    with IRBuilder() as builder, I.ir_module(), T.prim_func(is_private=True):
        T.func_name("helper")
        T.evaluate(1)
    assert builder.get()["helper"].attrs == {}


def test_without_a_builder() -> None:
    with pytest.raises(ValueError, match="no builder in the current scope"):
        T.evaluate(0)
    with pytest.raises(IndexError, match="nothing was built"), IRBuilder() as builder:
        builder.get()
