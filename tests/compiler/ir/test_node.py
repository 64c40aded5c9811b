"""``rebuild`` keeps what nothing changed in."""

from __future__ import annotations

import pytest

from compiler import relay, tir
from compiler.ir.expr.primexpr import Call, Var, const
from compiler.ir.node import Node, duplicate, rebuild
from compiler.ir.origin import derived_from

i = Var("i")
CALL = Call("int32", tir.decl_buffer((4,)).data, (i, const(1)))
LOOP = tir.For(i, 0, 4, tir.ForKind.SERIAL, tir.Evaluate(i))
DENSE = relay.nn.dense(relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3)))


@pytest.mark.parametrize("n", [CALL, LOOP, DENSE, relay.TupleType([relay.TensorType((1,))])])
def test_nothing_changed_is_the_very_same_object(n: Node) -> None:
    assert rebuild(n) is n


@pytest.mark.parametrize(
    ("n", "field"), [(CALL, "args"), (LOOP, "body"), (LOOP, "min"), (DENSE, "args"), (DENSE, "attrs")]
)
def test_a_change_to_the_same_thing_is_none(n: Node, field: str) -> None:
    assert rebuild(n, **{field: getattr(n, field)}) is n


def test_a_tuple_of_the_same_objects_is_no_change() -> None:
    assert rebuild(CALL, args=(i, CALL.args[1])) is CALL
    assert rebuild(CALL, args=(i,)).args == (i,)
    assert rebuild(CALL, args=(CALL.args[1], i)) is not CALL


def test_what_changed_is_new_and_the_rest_is_kept() -> None:
    body = tir.Evaluate(0)
    loop = rebuild(LOOP, body=body)
    assert loop is not LOOP
    assert loop.body is body
    assert loop.loop_var is LOOP.loop_var


def test_the_ambient_span_is_that_of_a_copy() -> None:
    with derived_from(frozenset((3,))):
        assert rebuild(LOOP, body=tir.Evaluate(0)).span == {3}
        assert rebuild(LOOP, body=LOOP.body).span == LOOP.span


def test_a_duplicate_is_always_another_node() -> None:
    again = duplicate(LOOP, {})
    assert again is not LOOP
    assert again.body is LOOP.body


def test_a_field_that_the_constructor_does_not_take_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Add is made from a, b, got dtype"):
        rebuild(i + 1, dtype="int64")
