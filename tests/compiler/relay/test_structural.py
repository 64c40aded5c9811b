"""When two graphs are the same: as TVM 0.19 answers each of these questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler import relay, tir
from compiler.classic.relay.prelude import Prelude
from compiler.ir import assert_structural_equal, structural_equal, structural_hash
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.relay.inference import infer_module
from tests.growth import assert_linear

nn: Any = relay.op.nn
relu = nn.relu


def scalar(name: str) -> relay.Var:
    return relay.var(name, shape=())


def of_shape(dim: Any) -> relay.Function:
    x = relay.var("x", shape=(dim, 2))
    return relay.Function((x,), x)


Y, W, N, M = scalar("y"), scalar("w"), tir.Var("n", "int32"), tir.Var("m", "int32")
ONE = relay.const(1.0)
A, B = relay.TypeVar("A"), relay.TypeVar("B")


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (relay.Function((Y,), Y), relay.Function((W,), W), True),
        (relu(Y), relu(Y), True),
        (relu(Y), relu(W), False),
        (relay.Tuple((ONE, ONE)), relay.Tuple((relay.const(1.0), relay.const(1.0))), True),
        (relay.const(1.0), relay.const(1), False),
        (relay.const(float("nan")), relay.const(float("nan")), True),
        (relay.const(np.ones((2, 2))), relay.const(np.ones((4,))), False),
        (relay.Function((Y,), ONE), relay.Function((relay.var("y", shape=(2,)),), ONE), False),
        (relay.Function((Y,), Y, relay.scalar_type("float32")), relay.Function((Y,), Y), False),
        (relay.Let(Y, ONE, Y), relay.Let(W, ONE, W), True),
        (relay.Let(Y, ONE, W), relay.Let(W, ONE, W), False),
        (relay.FuncType((A,), A, (A,)), relay.FuncType((B,), B, (B,)), True),
        (relay.FuncType((A,), A), relay.FuncType((B,), B), False),
        (of_shape(N), of_shape(M), True),
        (of_shape(3), of_shape(tir.IntImm("int64", 3)), True),
        (of_shape(3), of_shape(4), False),
        (nn.softmax(Y, axis=1), nn.softmax(Y, axis=-1), False),
        (relay.TupleGetItem(Y, 0), relay.TupleGetItem(Y, 1), False),
    ],
)
def test_equality_and_hash(a: Any, b: Any, same: bool) -> None:
    assert structural_equal(a, b) == structural_equal(b, a) == same
    assert (structural_hash(a) == structural_hash(b)) == same


def test_one_expression_used_twice_is_not_two_that_look_alike() -> None:
    shared = relu(Y)
    once, twice = relay.Tuple((shared, shared)), relay.Tuple((relu(Y), relu(Y)))
    assert not structural_equal(once, twice)
    assert not structural_equal(twice, once)
    assert structural_hash(once) != structural_hash(twice)


def test_free_variables_match_if_that_is_wanted() -> None:
    assert structural_equal(relu(Y), relu(W), map_free_vars=True)
    assert structural_hash(relu(Y), True) == structural_hash(relu(W), True)
    assert not structural_equal(relay.Tuple((Y, Y)), relay.Tuple((Y, W)), map_free_vars=True)


def test_modules_match_by_the_names_of_their_functions_and_types() -> None:
    first, second = Prelude().mod, Prelude().mod
    assert structural_equal(first, second)
    assert structural_hash(first) == structural_hash(second)
    other = Prelude().mod
    other["id"] = other["hd"]
    assert not structural_equal(first, other)
    del second.type_definitions[second.get_global_type_var("Tree")]
    assert not structural_equal(first, second)


def test_types_that_were_inferred_do_not_count_but_what_is_written_does() -> None:
    func = relay.Function((Y,), relu(Y))
    mod = IRModule.from_expr(func)
    typed = infer_module(mod)
    assert structural_equal(func, relay.Function((Y,), relu(Y)))
    assert not structural_equal(mod, typed)
    with pytest.raises(ArgumentError, match=r"(?s)structures differ.*-def @main.*\+def @main.*-> float32"):
        assert_structural_equal(mod, typed)


def test_deep_and_heavily_shared_graphs_take_linear_time() -> None:
    def ladder(length: int) -> Any:
        value: Any = Y
        for _ in range(length):
            value = relay.Tuple((value, value))
        return value

    def compared(length: int) -> Callable[[], object]:
        a, b = ladder(length), ladder(length)
        return lambda: structural_equal(a, b) and structural_hash(a) == structural_hash(b)

    assert_linear(compared, 400)
    assert compared(10_000)()


def test_an_attribute_may_be_a_number_or_the_constant_of_the_number() -> None:
    x = relay.var("x", shape=(3,))
    made = [relay.Function([x], x).with_attr("Primitive", value) for value in (1, tir.IntImm("int32", 1), 2)]
    assert structural_equal(made[0], made[1])
    assert structural_hash(made[0]) == structural_hash(made[1])
    assert not structural_equal(made[1], made[2])


@pytest.mark.parametrize("key", [lambda x: x, lambda x: x.vid])
def test_keys_that_are_variables_match_as_the_variables_do(key: Callable[[relay.Var], Any]) -> None:
    def noted(at: int) -> relay.Function:
        params = [relay.var(name, shape=(4,)) for name in "ab"]
        return relay.Function(params, params[0]).with_attr("notes", {key(params[at]): 1})

    assert structural_equal(noted(0), noted(0))
    assert structural_hash(noted(0)) == structural_hash(noted(0))
    assert not structural_equal(noted(0), noted(1))


def test_identities_are_those_of_their_variables() -> None:
    x, y = scalar("x"), scalar("x")
    assert x.vid == x.vid
    assert x.vid != y.vid
    assert not structural_equal(x.vid, y.vid)
    assert structural_equal(x.vid, y.vid, map_free_vars=True)
