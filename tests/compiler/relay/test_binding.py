"""Expressions in the place of variables: the example of ``relay.bind``'s documentation, and what stays as it is."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import relay
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.ir.structural import structural_equal
from compiler.relay.interpreter import Interpreter


def test_a_bound_parameter_goes_and_what_its_value_uses_comes() -> None:
    x, y, z = (relay.var(name, shape=()) for name in "xyz")
    bound = relay.bind(relay.Function([x, y], relay.add(x, y)), {y: relay.multiply(z, relay.const(2.0))})
    assert bound.params == (x, z)
    value = Interpreter(IRModule({"main": bound})).evaluate(bound, [np.float32(1), np.float32(3)])
    assert np.asarray(value) == 7


def test_free_variables_are_replaced_everywhere() -> None:
    x, y = relay.var("x", shape=()), relay.var("y", shape=())
    inner = relay.Function([y], relay.add(x, y))
    bound = relay.bind(relay.Tuple([x, inner(x)]), {x: relay.const(1.0)})
    expected = relay.Tuple([relay.const(1.0), relay.Function([y], relay.add(relay.const(1.0), y))(relay.const(1.0))])
    assert relay.analysis.free_vars(bound) == []
    assert len(bound.fields) == len(expected.fields)
    assert structural_equal(bound.fields[0], expected.fields[0])
    assert structural_equal(bound.fields[1].op, expected.fields[1].op)


def test_what_has_nothing_to_bind_is_the_same_object() -> None:
    x, y = relay.var("x", shape=()), relay.var("y", shape=())
    func = relay.Function([x], relay.exp(x))
    assert relay.bind(func, {y: relay.const(1.0)}) is func


def test_only_variables_are_bound_and_only_to_expressions() -> None:
    x = relay.var("x", shape=())
    with pytest.raises(ArgumentError, match="must map variables to expressions"):
        relay.bind(x, {x: "one"})
