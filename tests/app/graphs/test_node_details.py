"""What the side panel tells of a node."""

from __future__ import annotations

import msgspec
import pytest

from app.artifacts import Answer, GraphNode, Kernel, Origin, Unit
from app.graphs.drawings import Drawings
from app.graphs.node_details import NodeDetails, node_details, source_lines
from app.panes.graph_changes import type_bytes
from app.panes.kernels import became
from tests.app.graphs.test_drawings import answer_of, drawn


def details(label: str, answer: Answer) -> NodeDetails:
    key = answer.units[0].steps[-1].drawing or ""
    graph = Drawings(answer).get(key)
    assert graph is not None
    slot = next(item.slot for item in graph.nodes if item.node.label == label)
    told = node_details(answer, graph, key, slot)
    assert told is not None
    assert node_details(answer, graph, key, 999) is None
    return told


def test_a_node_has_its_neighbours_shape_and_bytes() -> None:
    told = details("b", answer_of(drawn(["x", "a", "b", "c"], [(0, 2), (1, 2), (2, 3)])))
    assert [item.label for item in told.inputs] == ["x", "a"]
    assert [item.label for item in told.readers] == ["c"]
    assert (told.shape, told.dtype, told.bytes, told.moved) == ("4 × 8", "float32", 128.0, 384.0)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("(1, 3) float16", 6),
        ("() int64", 8),
        ("(8,) bool", 1),
        ("(2, ?) float32", None),
        ("(2) nonsense", None),
        ("", None),
    ],
)
def test_bytes_of_a_type(text: str, size: float | None) -> None:
    assert type_bytes(text) == size


def test_lines_are_those_of_the_script_that_origins_lead_to() -> None:
    rows = [
        Origin(1, "source", "a", line=7),
        Origin(2, "graph", "b", parents=[1]),
        Origin(3, "loop", "c", line=99, parents=[2, 4]),
        Origin(4, "source", "d", line=3, parents=[3]),
    ]
    assert source_lines(Answer(origins=rows), [3, 8]) == [3, 7]


def test_a_group_became_the_kernel_of_its_operators_else_those_that_have_one_of_them() -> None:
    kernels = [
        Kernel(name="both", operators=["conv", "relu"], origins=[1, 2]),
        Kernel(name="alone", operators=["conv"], origins=[1]),
        Kernel(name="elsewhere", operators=["conv"], origins=[9]),
    ]
    unit = Unit(name="main", kind="graph", kernels=kernels)
    conv, relu = (GraphNode(key=name, label=name, origins=[number]) for number, name in enumerate(("conv", "relu"), 1))
    assert [row.kernel.name for row in became(unit, [conv, relu])] == ["both"]
    assert [row.kernel.name for row in became(unit, [conv])] == ["alone"]
    assert [row.kernel.name for row in became(unit, [relu])] == ["both"]
    assert became(unit, [msgspec.structs.replace(relu, origins=[77])]) == []
    assert became(None, [conv]) == []
