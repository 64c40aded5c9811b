"""Which operators are computed to check that passes preserve results, and what is found."""

from __future__ import annotations

from typing import Any

import pytest

from app.recorder.units.pass_check import check_passes
from app.recorder.units.subjects import GraphSubject, PassRecord
from compiler import relay
from compiler.ir.module import IRModule
from compiler.relay.interpreter import Interpreter
from compiler.relay.transform.infer_type import InferType


def module(last: Any) -> IRModule:
    x, y = relay.var("x", shape=(3, 4)), relay.var("y", shape=(3, 4))
    joined = relay.concatenate([relay.exp(x), relay.copy(relay.exp(x)), y], axis=0)
    return InferType()(IRModule.from_expr(relay.Function([x, y], last(joined))))


def test_what_a_pass_leaves_as_it_was_is_not_computed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    original = Interpreter.operator

    def operator(self: Any, op: Any, call: Any, args: Any) -> object:
        computed.append(op.name)
        return original(self, op, call, args)

    monkeypatch.setattr(Interpreter, "operator", operator)
    graph = GraphSubject("main", None, module(relay.sum))
    same, wrong = (PassRecord(name, module(last), 1.0, True) for name, last in WAYS)
    graph.passes.extend([same, wrong])
    check_passes(graph, 20.0)
    assert (same.equivalent, wrong.equivalent) == (True, False)
    assert computed == ["exp", "copy", "concatenate", "sum", "tanh", "sum"]


WAYS = (("Same", relay.sum), ("Wrong", lambda tensor: relay.sum(relay.tanh(tensor))))
