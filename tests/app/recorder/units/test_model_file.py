"""A model's file is shown in an order in which values are made before they are read, however it is stored."""

from __future__ import annotations

from collections.abc import Iterator

from app.recorder.units.model_file import FileGraph, FileNode, FileValue, ModelFile, show_file
from compiler.ir.origin import OriginTable


class Counted(tuple[str, ...]):
    """The inputs of a node, which count how often they are read."""

    reads = 0

    def __iter__(self) -> Iterator[str]:
        Counted.reads += 1
        return super().__iter__()


def node(name: str, inputs: tuple[str, ...], *outputs: str) -> FileNode:
    return FileNode("Op", name, Counted(inputs), outputs, {}, {})


def shown(nodes: list[FileNode]) -> tuple[list[str], set[tuple[int, int]]]:
    """Return the values that the lines make, in order, and the edges of the drawing, by the order of its nodes."""
    graph = FileGraph([FileValue("x", "(4) float32")], [], nodes, [], {})
    listing, drawing = show_file(ModelFile("model", graph, 1, 0), OriginTable())
    assert drawing is not None
    lines = [line.text.partition(" = ")[0] for line in listing.lines if " = " in line.text]
    return lines, {(edge.source, edge.target) for edge in drawing.edges}


def test_nodes_are_shown_behind_those_whose_values_they_read_and_those_of_a_cycle_last() -> None:
    nodes = [
        node("d", ("c", "b"), "d"),
        node("loop", ("back", "x"), "forth"),
        node("c", ("a", ""), "c", ""),
        node("a", ("x", "held"), "a"),
        node("back", ("forth",), "back"),
        node("b", ("x", "x"), "b"),
    ]
    lines, edges = shown(nodes)
    assert lines == ["%a", "%c", "%b", "%d", "%forth", "%back"]
    assert edges == {(0, 1), (1, 2), (0, 3), (2, 4), (3, 4), (0, 5), (5, 6)}


def test_a_file_that_stores_its_nodes_backwards_is_not_read_once_more_for_each_of_them() -> None:
    nodes = [node(str(at), (str(at - 1) if at else "x",), str(at)) for at in range(200)]
    Counted.reads = 0
    assert shown(nodes)[0] == [f"%{at}" for at in range(200)]
    sound = Counted.reads
    Counted.reads = 0
    assert shown(nodes[::-1])[0] == [f"%{at}" for at in range(200)]
    assert Counted.reads == sound
