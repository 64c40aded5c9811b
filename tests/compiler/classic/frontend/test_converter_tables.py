"""What converters of programs keep: attributes that are texts, and expressions by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.classic.frontend.common import ExprTable, StrAttrsDict
from compiler.ir.error import ArgumentError


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int", "7", 7),
        ("int", "None", None),
        ("float", "1.5", 1.5),
        ("str", "(1, 2)", "(1, 2)"),
        ("bool", "True", True),
        ("bool", "yes", True),
        ("bool", "0", False),
        ("int_tuple", "(1, None)", (1, None)),
        ("int_tuple", "5", (5,)),
        ("int_tuple", "()", ()),
        ("float_tuple", "[3, 4.5]", (3.0, 4.5)),
        ("int_list", "[3, 4]", (3, 4)),
        ("tuple_tuple_int", "((0, 0), (1, 1))", ((0, 0), (1, 1))),
        ("tuple_tuple_int", "[3, 4]", ((3, 4),)),
    ],
)
def test_texts_are_read_as_classic_tvm_reads_them(kind: str, text: str, value: Any) -> None:
    read = getattr(StrAttrsDict({"a": text}), f"get_{kind}")
    assert read("a") == value
    assert read("b", "default") == "default"
    with pytest.raises(AttributeError, match="Required attribute b not found"):
        read("b")


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("int", "x", "an integer"),
        ("float", "(1,)", "a number"),
        ("int_tuple", "(1.5, 2)", "integers"),
        ("int_list", "[1, None]", "integers"),
        ("float_tuple", "(1, ", "numbers"),
        ("tuple_tuple_int", "((1, 2), 3)", "rows of integers"),
        ("int_tuple", "__import__('os')", "integers"),
    ],
)
def test_texts_of_another_kind_are_refused(kind: str, text: str, expected: str) -> None:
    with pytest.raises(ArgumentError, match=f"attribute a: expected {expected}, got "):
        getattr(StrAttrsDict({"a": text}), f"get_{kind}")("a")


def test_expressions_by_name() -> None:
    table = ExprTable()
    x, y = relay.var("x"), relay.var("y")
    table.set_expr("value", x)
    table.set_expr("value", y)
    assert table.has_expr("value")
    assert table.get_expr("value") is x
    table.set_expr("value", y, force_override=True)
    assert table.get_expr("value") is y
    with pytest.raises(KeyError, match="nothing"):
        table.get_expr("nothing")
    first, second = table.new_const([[1, 2]], dtype="int32"), table.new_const(np.arange(4), shape=(2, 2))
    assert table.get_expr(first.name_hint) is first
    assert [str(v.type_annotation) for v in (first, second)] == ["Tensor[(1, 2), int32]", "Tensor[(2, 2), float32]"]
    np.testing.assert_array_equal(table.params[second.name_hint].numpy(), [[0, 1], [2, 3]])
    table.set_padding((1, 1))
    assert (table.paddings, table.in_padding) == ((1, 1), True)
    table.clear_padding()
    assert not table.in_padding
