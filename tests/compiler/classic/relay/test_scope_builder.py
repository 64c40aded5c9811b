"""Programs that are built statement by statement."""

from __future__ import annotations

from typing import Any

import pytest

import compiler.relay
from compiler.ir.error import ArgumentError
from compiler.relay.inference import infer_expr
from compiler.relay.ty import scalar_type

relay: Any = compiler.relay


def test_lets_and_branches() -> None:
    sb = relay.ScopeBuilder()
    c = sb.let(("c", scalar_type("bool")), relay.const(True))
    with sb.if_scope(c):
        inner = sb.let("inner", relay.const(1.0))
        sb.ret(inner)
    with sb.else_scope():
        sb.ret(relay.const(2.0))
    program = sb.get()
    assert program.var is c
    assert program.body.cond is c
    assert program.body.true_branch.var is inner
    assert infer_expr(program) == scalar_type("float32")


def test_what_is_missing_is_said() -> None:
    sb = relay.ScopeBuilder()
    with pytest.raises(ArgumentError, match="ret is missing"):
        sb.get()
    with pytest.raises(ArgumentError, match="must follow an if_scope"), sb.else_scope():
        sb.ret(relay.const(1))
    with sb.if_scope(relay.const(True)):
        sb.ret(relay.const(1))
    with pytest.raises(ArgumentError, match="an else_scope is missing"):
        sb.get()


def test_a_scope_ends_only_where_nothing_was_raised() -> None:
    ended: list[str] = []
    with relay.scope_builder.WithScope("inside", lambda: ended.append("scope")) as value:
        assert (value, ended) == ("inside", [])
    assert ended == ["scope"]
    with pytest.raises(KeyError), relay.scope_builder.WithScope(None, lambda: ended.append("again")):
        raise KeyError
    assert ended == ["scope"]
