"""Which parameters of a graph are drawn as its inputs, and which are told of the operators whose weights they are."""

from __future__ import annotations

import numpy as np
import pytest

from app.recorder.units.graph_drawing import draw_module
from compiler import relay
from compiler.ir.module import IRModule
from compiler.ir.transform import Sequential


def inputs_drawn(func: relay.Function) -> set[str]:
    """Return the inputs that are drawn; of the fused graph they must be the same."""
    found = []
    for passes in ([], [relay.transform.FuseOps(2)]):
        typed = relay.transform.InferType()
        module = Sequential([typed, *passes, typed])(IRModule.from_expr(func))
        drawing = draw_module(module, "main", None)
        assert drawing is not None
        assert drawing.is_sound
        found.append({node.label for node in drawing.nodes if node.kind == "input"})
    assert found[0] == found[1]
    return found[0]


def embedded(table: relay.Expr) -> relay.Function:
    tokens = relay.var("tokens", shape=(1, 16), dtype="int64")
    params = [table, tokens] if isinstance(table, relay.Var) else [tokens]
    return relay.Function(params, relay.take(table, tokens, axis=0))


@pytest.mark.parametrize(
    ("table", "drawn"),
    [
        (relay.const(np.zeros((100, 8), "float32")), {"tokens"}),
        (relay.var("table", shape=(100, 8)), {"table", "tokens"}),
    ],
    ids=["constant", "parameter"],
)
def test_indices_into_a_table_are_an_input(table: relay.Expr, drawn: set[str]) -> None:
    assert inputs_drawn(embedded(table)) == drawn


def test_what_is_taken_from_a_constant_is_an_input() -> None:
    x = relay.var("x", shape=(4,))
    assert inputs_drawn(relay.Function([x], relay.subtract(relay.const(1.0), x))) == {"x"}


def test_weights_are_told_of_their_operator() -> None:
    x, w, b = (relay.var(name, shape=shape) for name, shape in (("x", (1, 8)), ("w", (4, 8)), ("b", (4,))))
    assert inputs_drawn(relay.Function([x, w, b], relay.nn.bias_add(relay.nn.dense(x, w), b))) == {"x"}
