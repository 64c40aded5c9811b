"""Expressions with other fields: what is given changes, the rest stays."""

from __future__ import annotations

from typing import Any

import pytest

import compiler as tvm
from compiler import relay

expr = relay.expr
x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))

CHANGES: list[tuple[Any, str, dict[str, Any], str]] = [
    (relay.Tuple([x, x]), "Tuple", {"fields": [x, y]}, "(%x, %y)"),
    (relay.add(x, x), "Call", {"args": [x, y]}, "add(%x, %y)"),
    (relay.Let(x, y, x), "Let", {"body": y}, "%y"),
    (relay.If(relay.const(True), x, x), "If", {"false_branch": y}, "%y"),
    (relay.TupleGetItem(relay.Tuple([x, y]), 0), "TupleGetItem", {"index": 1}, ".1"),
    (relay.RefCreate(x), "RefCreate", {"value": y}, "ref(%y)"),
    (relay.RefRead(x), "RefRead", {"ref": y}, "ref_read(%y)"),
    (relay.RefWrite(x, x), "RefWrite", {"value": y}, "ref_write(%x, %y)"),
    (x, "Var", {"vid": "z"}, "%z"),
    (relay.const(1), "Constant", {"data": tvm.nd.array(2.5)}, "2.5"),
]


@pytest.mark.parametrize(("before", "name", "change", "wanted"), CHANGES, ids=[c[1] for c in CHANGES])
def test_a_field_changes(before: Any, name: str, change: dict[str, Any], wanted: str) -> None:
    with_fields = getattr(expr, f"{name}WithFields")
    after = with_fields(before, **change)
    assert wanted in str(after)
    assert after is not before
    assert with_fields(before) is before
    (field,) = change
    with pytest.raises(tvm.TVMError, match=f"{name}WithFields"):
        with_fields(before, **{f"no_{field}": None})


def test_a_function_has_other_parameters() -> None:
    before = relay.Function([x], x)
    after = relay.function.FunctionWithFields(before, [x, y], y, span=relay.Span(relay.SourceName("f"), 1, 1, 2, 2))
    assert after.params == (x, y)
    assert after.body is y
    assert after.attrs is before.attrs


def test_a_copy_can_come_from_elsewhere() -> None:
    place = relay.Span(relay.SourceName("layer"), 3, 3, 4, 4)
    before = relay.add(x, y)
    after = expr.CallWithFields(before, span=place)
    assert "span=layer:3:4" in str(after)
    assert "span" not in str(before)
    assert expr.VarWithFields(x, "z", span=place).span is place
