"""Bodies of branches, clauses and functions in drawings: what is in them, and what leads in and out."""

from __future__ import annotations

from app.artifacts import Drawing
from app.graphs.layout import lay_out
from app.recorder.units.graph_drawing import MAX_SCOPES, draw_module
from compiler import relay
from compiler.ir.module import IRModule


def drawing_of(func: relay.Function) -> Drawing:
    drawing = draw_module(relay.transform.InferType()(IRModule.from_expr(func)), "main", None)
    assert drawing is not None
    assert drawing.is_sound
    return drawing


def scopes(drawing: Drawing) -> dict[str, list[str]]:
    return {node.label: node.scope for node in drawing.nodes}


def leads(drawing: Drawing) -> set[tuple[str, str]]:
    return {(drawing.nodes[edge.source].label, drawing.nodes[edge.target].label) for edge in drawing.edges}


def branches() -> relay.Function:
    x, flag = relay.var("x", shape=(4,)), relay.var("flag", shape=(), dtype="bool")
    inner = relay.If(flag, relay.tanh(x), relay.sigmoid(x))
    return relay.Function([flag, x], relay.exp(relay.If(flag, relay.nn.relu(x), relay.negative(inner))))


def test_branches_are_boxes_in_boxes_whose_values_meet() -> None:
    drawing = drawing_of(branches())
    inside = scopes(drawing)
    assert (inside["x"], inside["flag"], inside["exp"]) == ([], [], [])
    assert inside["nn.relu"] == ["if 1 then"]
    assert inside["negative"] == ["if 1 else"]
    assert inside["tanh"] == ["if 1 else", "if 2 then"]
    assert inside["sigmoid"] == ["if 1 else", "if 2 else"]
    assert leads(drawing) >= {("x", "nn.relu"), ("nn.relu", "if"), ("negative", "if"), ("flag", "if"), ("if", "exp")}


def test_a_closure_is_a_box_that_leads_to_its_calls() -> None:
    x, v, square = relay.var("x", shape=(4,)), relay.var("v", shape=(4,)), relay.var("square")
    body = relay.Let(square, relay.Function([v], relay.multiply(v, v)), square(square(x)))
    drawing = drawing_of(relay.Function([x], body))
    inside = scopes(drawing)
    assert inside["v"] == inside["multiply"] == ["fn 1"]
    assert leads(drawing) >= {("v", "multiply"), ("multiply", "fn"), ("fn", "square"), ("x", "square")}


def test_a_boxes_frame_holds_its_nodes_and_no_others() -> None:
    drawing = drawing_of(branches())
    layout = lay_out(drawing)
    assert [frame.name for frame in layout.scopes] == ["if 1 then", "if 1 else", "if 2 then", "if 2 else"]
    for frame in layout.scopes:
        numbers = [float(text) for text in frame.path[1:].replace("H", " ").replace("V", " ").replace("Z", "").split()]
        left, right = min(numbers[0], numbers[2]), max(numbers[0], numbers[2])
        top, bottom = numbers[1], max(numbers[1], numbers[3])
        for node, place in zip(drawing.nodes, layout.positions, strict=True):
            within = left <= place.x <= right and top <= place.y <= bottom
            if frame.name in node.scope and len(layout.scopes) > 1 and frame.name != "if 1 else":
                assert within, (frame, node.label)


def test_very_deep_branches_are_drawn_as_far_as_can_be_seen() -> None:
    x, flag = relay.var("x", shape=(4,)), relay.var("flag", shape=(), dtype="bool")
    body = relay.exp(x)
    for _ in range(60):
        body = relay.negative(relay.If(flag, body, relay.nn.relu(x)))
    drawing = drawing_of(relay.Function([flag, x], body))
    assert max(len(node.scope) for node in drawing.nodes) == MAX_SCOPES
    assert "exp" not in scopes(drawing)
