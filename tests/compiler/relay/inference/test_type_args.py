"""Inference writes on each call what it is applied to, which is not part of its structure."""

from __future__ import annotations

from compiler import relay
from compiler.ir import IRModule
from compiler.ir.node import rebuild
from compiler.ir.serialization.json_format import load_json, save_json
from compiler.ir.structural import structural_equal, structural_hash
from compiler.relay.transform import InferType
from compiler.relay.ty import TensorType, TypeVar

MATRIX, ROW = TensorType((10, 20)), TensorType((1, 20))


def _identity() -> relay.Function:
    t = TypeVar("t")
    x = relay.Var("x", t)
    return relay.Function([x], x, t, [t])


def test_an_operator_is_applied_to_the_types_of_its_arguments() -> None:
    x, y = relay.var("x", MATRIX), relay.var("y", ROW)
    mod = InferType()(IRModule.from_expr(relay.Function([x, y], relay.add(x, y))))
    assert list(mod["main"].body.type_args) == [MATRIX, ROW]


def test_a_generic_function_is_applied_to_what_it_is_instantiated_with() -> None:
    x = relay.var("x", MATRIX)
    mod = InferType()(IRModule.from_expr(relay.Function([x], relay.Call(_identity(), [x]))))
    assert list(mod["main"].body.type_args) == [MATRIX]


def test_inferred_types_change_neither_equality_nor_json() -> None:
    x = relay.var("x", MATRIX)
    function = relay.Function([x], relay.exp(x), MATRIX)
    plain, typed = IRModule.from_expr(function), IRModule.from_expr(rebuild(function, body=relay.exp(x)))
    hashed = structural_hash(plain, map_free_vars=True)
    typed = InferType()(typed)
    assert typed["main"].body.type_args
    assert structural_equal(plain, typed)
    assert structural_hash(typed, map_free_vars=True) == hashed
    read = load_json(save_json(typed))
    assert structural_equal(read, typed)


def test_a_rebuilt_call_is_inferred_anew() -> None:
    x, y = relay.var("x", MATRIX), relay.var("y", ROW)
    call = InferType()(IRModule.from_expr(relay.Function([x], relay.Call(_identity(), [x]))))["main"].body
    other = relay.Function([y], rebuild(call, args=(y,)))
    assert list(InferType()(IRModule.from_expr(other))["main"].body.type_args) == [ROW]


def test_what_a_variable_is_survives_inference() -> None:
    x, y = relay.var("x", MATRIX), relay.var("x", MATRIX)
    mod = InferType()(IRModule.from_expr(relay.Function([x, y], relay.add(x, y))))
    assert mod["main"].params[0].vid.same_as(x.vid)
    assert not x.vid.same_as(y.vid)
    assert x.vid.name_hint == "x"
