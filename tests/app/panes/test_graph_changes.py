"""Two graphs are compared: what is planted is found, and nothing else."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import onnx
import pytest

from app.artifacts import Answer, Drawing, GraphEdge, GraphNode, Kernel, Step, Unit, Weight, drawing_key
from app.panes.graph_changes import UnitedGraph, differences, unite_graphs
from app.panes.model_changes import ModelChanges
from app.panes.steps import timeline_steps
from app.recorder.units.file_formats import read_file
from app.recorder.units.model_file import show_file
from compiler.ir.origin import OriginTable, recording
from tests import models


def drawn(model: onnx.ModelProto) -> Drawing:
    """Return the drawing of a model as its file holds it."""
    table, file = OriginTable(), read_file("ONNX", model, 1, 0)
    assert file is not None
    with recording(table):
        _, drawing = show_file(file, table, lambda name, kind: None)
    assert drawing is not None
    return drawing


def united(before: Drawing, after: Drawing) -> UnitedGraph:
    both = unite_graphs(before, after)
    assert both is not None
    return both


def graph(nodes: list[GraphNode], edges: list[tuple[int, int]]) -> Drawing:
    """Return a drawing with its key."""
    made = Drawing(key="", name="main", nodes=nodes, edges=[GraphEdge(*edge) for edge in edges])
    return msgspec.structs.replace(made, key=drawing_key(made))


def chain(*labels: str) -> Drawing:
    """Return operators that follow each other."""
    nodes = [GraphNode(key=str(at), label=label, type="(1, 8) float32") for at, label in enumerate(labels)]
    return graph(nodes, [(at, at + 1) for at in range(len(labels) - 1)])


def test_the_same_model_twice_has_no_differences() -> None:
    drawing = drawn(models.build("bert", small=True))
    assert united(drawing, drawing).words == "no differences"


def test_weights_of_equal_type_with_other_values_are_the_only_difference() -> None:
    def layer(maximum: float) -> Drawing:
        weight = Weight(name="w", type="(8,) float32", minimum=0.0, maximum=maximum)
        return graph([GraphNode(key="0", label="Add", constants=["w (8,) float32"], weights=[weight])], [])

    assert united(layer(1.0), layer(2.0)).words == "no differences but the weights of 1 node"


def test_another_layer_of_a_transformer_is_all_that_is_added() -> None:
    sizes: dict[str, Any] = {"width": 32, "heads": 4, "length": 16, "vocabulary": 100}
    one, two, three = (drawn(models.build("bert", layers=layers, **sizes)) for layers in (1, 2, 3))
    layer = len(two.nodes) - len(one.nodes)
    assert united(two, three).words == f"{layer} added · 0 removed · 0 changed"
    assert united(three, two).words == f"0 added · {layer} removed · 0 changed"


def test_inserted_removed_and_changed_nodes_are_told_apart() -> None:
    before = chain("Split", "Conv", "Relu", "Conv", "Relu", "Gemm", "Softmax")
    after = chain("Split", "Conv", "Relu", "Quantize", "QLinearConv", "Relu", "Gemm")
    both = united(before, after)
    found = [(change.kind, change.node.label) for change in both.changes if change.kind != "same"]
    assert found == [("added", "Quantize"), ("changed", "QLinearConv"), ("removed", "Softmax")]
    assert both.words == "1 added · 1 removed · 1 changed"


def test_what_is_told_differently_of_a_node_is_named() -> None:
    before = GraphNode(
        key="0", label="Conv", type="(1, 8, 4) float32", attributes={"strides": "[1]"}, constants=["w (8, 3) float32"]
    )
    told = {"label": "QLinearConv", "type": "(1, 8, 2) int8", "attributes": {"strides": "[2]"}}
    after = msgspec.structs.replace(before, constants=["v (8, 5) float32"], **told)
    assert [(item.what, item.before, item.after) for item in differences(before, after)] == [
        ("operator", "Conv", "QLinearConv"),
        ("shape", "(1, 8, 4)", "(1, 8, 2)"),
        ("data type", "float32", "int8"),
        ("strides", "[1]", "[2]"),
        ("v shape", "(8, 3)", "(8, 5)"),
    ]
    untyped = msgspec.structs.replace(before, type="", layers=["another name"])
    assert list(differences(before, untyped)) == []


@pytest.mark.parametrize("seed", range(20))
def test_both_graphs_are_within_the_one_of_both_which_has_no_cycles(seed: int) -> None:
    draw = random.Random(seed)

    def made() -> Drawing:
        count = draw.randint(2, 14)
        nodes = [GraphNode(key=str(at), label=draw.choice("abc"), type="(1,) float32") for at in range(count)]
        pairs = [(s, t) for t in range(count) for s in range(t)]
        return graph(nodes, sorted(draw.sample(pairs, draw.randint(0, min(len(pairs), 2 * count)))))

    before, after = made(), made()
    both = united(before, after)
    assert both.drawing.is_sound
    for side, places, gone in ((before, both.before, "added"), (after, both.after, "removed")):
        assert sorted(place for place in places if place is not None) == list(range(len(side.nodes)))
        found = {
            (places[edge.source], places[edge.target])
            for edge, kind in zip(both.drawing.edges, both.edges, strict=True)
            if kind != gone
        }
        assert found == {(edge.source, edge.target) for edge in side.edges}
        assert all(
            side.nodes[place].label == (change.before if side is before and change.before else change.node).label
            for place, change in zip(places, both.changes, strict=True)
            if place is not None
        )


def unit(drawing: Drawing, *kernels: Kernel) -> Unit:
    return Unit(
        name="main", kind="graph", built=True, steps=[Step(group="graph", name="Graph", drawing=drawing.key)],
        kernels=list(kernels),
    )  # fmt: skip


def test_kernels_whose_nodes_correspond_are_beside_each_other_with_the_ratio_of_their_times() -> None:
    def network(start: int, *groups: str) -> Drawing:
        nodes = [
            GraphNode(key=str(at), label=label, group=label + "'", origins=[start + at])
            for at, label in enumerate(groups)
        ]
        return graph(nodes, [(at, at + 1) for at in range(len(groups) - 1)])

    first, second = network(0, "conv", "relu", "dense"), network(10, "conv", "relu", "softmax")
    olds = [Kernel(name=f"k{at}", operators=[label], origins=[at], seconds=2.0, calls=2) for at, label in enumerate(
        ["conv", "relu", "dense"])]  # fmt: skip
    news = [Kernel(name=f"n{at}", operators=[label], origins=[10 + at], seconds=0.5) for at, label in enumerate(
        ["conv", "relu", "softmax"])]  # fmt: skip
    before, after = unit(first, *olds), unit(second, *news)
    answer = Answer(units=[before, after], drawings={first.key: first, second.key: second})
    step, other = (timeline_steps(side)[0] for side in (after, before))
    changes = ModelChanges(answer, before, after, step, other)
    names = {(row.before and row.before.kernel.name, row.after and row.after.kernel.name) for row in changes.kernels}
    assert names == {("k0", "n0"), ("k1", "n1"), ("k2", None), (None, "n2")}
    assert {row.ratio for row in changes.kernels if row.before and row.after} == {4.0}
    assert changes.kernels[0].calls == "2 → 1"
    assert changes.total is not None
    assert changes.total.ratio == 4.0
    unmeasured = unit(second, *(msgspec.structs.replace(kernel, seconds=None) for kernel in news))
    assert ModelChanges(answer, before, unmeasured, step, other).total is None


def test_models_are_told_apart_by_their_place_among_those_that_are_built() -> None:
    drawing = graph([GraphNode(key="0", label="conv")], [])
    before, after = unit(drawing), unit(drawing)
    lost = msgspec.structs.replace(before, built=False)
    units = [lost, before, Unit(name="f", kind="function", built=True), unit(drawing), after]
    step = timeline_steps(after)[0]
    answer = Answer(units=units)
    assert ModelChanges(answer, before, after, step, None).places == [-3, -1]
    assert ModelChanges(answer, after, before, step, None).places == [-1, -3]
    assert len(ModelChanges(answer, lost, after, step, None).places) < 2
