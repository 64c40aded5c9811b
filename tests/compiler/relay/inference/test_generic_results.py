"""Generic functions whose result type is not written down."""

from __future__ import annotations

from typing import Any

import compiler as tvm
import compiler.relay
from compiler.relay.ty import TupleType, scalar_type

relay: Any = compiler.relay


def test_each_use_of_a_generic_function_has_its_own_result_type() -> None:
    a, f = relay.TypeVar("a"), relay.Var("f")
    x = relay.Var("x", a)
    twice = relay.Function([x], relay.Tuple([x, x]), None, [a])
    numbers = relay.Let(f, twice, relay.Tuple([f(relay.const(1)), f(relay.const(2.0))]))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(numbers))
    i, r = scalar_type("int32"), scalar_type("float32")
    assert mod["main"].body.checked_type == TupleType((TupleType((i, i)), TupleType((r, r))))


def test_a_generic_function_is_called_where_it_stands() -> None:
    a = relay.TypeVar("a")
    x, y = relay.Var("x", a), relay.var("y", shape=())
    call = relay.Function([x], relay.Tuple([x, x]), None, [a])(y)
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(call))
    assert mod["main"].body.checked_type == TupleType((scalar_type("float32"),) * 2)
