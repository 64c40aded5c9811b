"""Printers are registered by class; modules are written by the most abstract level of their functions."""

from __future__ import annotations

import pytest

import compiler as tvm
from compiler import relay, te
from compiler.ir.error import ArgumentError
from compiler.ir.function import GlobalVar, as_function
from compiler.ir.node import Node, node
from compiler.ir.printing import format as text_format
from compiler.ir.printing.format import TextFormat, format_of, register, text_of
from compiler.ir.scriptable import ScriptOptions


@node
class Base(Node):
    pass


@node
class Derived(Base):
    pass


class Fixed(TextFormat):
    def text(self, thing: object) -> str:
        return "fixed"


def test_a_format_is_found_by_the_nearest_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_format, "_FORMATS", dict(text_format._FORMATS))
    assert text_of(Derived()) == "<Derived>"
    register(Base, Fixed())
    assert text_of(Derived()) == "fixed"
    assert (
        format_of(Derived()).script(Derived(), ScriptOptions())
        == format_of(Derived()).astext(Derived(), True)
        == "fixed"
    )
    with pytest.raises(ValueError, match="Base has a text format already"):
        register(Base, Fixed())


def test_what_is_written_as_graphs_and_what_as_loops() -> None:
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
    loops = tvm.lower(te.create_schedule(b.op), [a, b])["main"]
    graph = relay.Function([], relay.const(1.0))
    assert "T.prim_func" in tvm.IRModule({"f": loops}).script()
    assert "def @g()" in str(tvm.IRModule({"g": graph}))
    for functions in ({"f": loops, "g": graph}, {"g": graph, "f": loops}):
        assert "def @g()" in str(tvm.IRModule(functions))
    assert "class Module" in str(tvm.IRModule({}))


def test_functions_of_expressions() -> None:
    x = relay.var("x", shape=(2,))
    function = as_function(x + x)
    assert function.params == (x,)
    assert as_function(function) is function
    with pytest.raises(ArgumentError, match="as_function: expected an expression or a function, got 3"):
        tvm.IRModule.from_expr(3)


def test_calls_of_global_functions() -> None:
    f, x = GlobalVar("f"), relay.var("x", shape=(2,))
    assert f(x).args == (x,)
    assert f().args == ()
