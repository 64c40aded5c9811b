"""Drawings of graphs as files and as text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from compiler import relay
from compiler.classic.contrib.relay_viz import DotPlotter, DotVizParser, RelayVisualizer, TermPlotter, TermVizParser
from compiler.classic.contrib.relay_viz.interface import VizNode, VizParser
from compiler.classic.contrib.relay_viz.terminal import TermGraph
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule

op: Any = relay.op
PARAMS: Any = {"w": None}


def network() -> IRModule:
    """Return a dense layer, a function that is called, and a value that is used twice."""
    x, w, p = relay.var("x", shape=(1, 4)), relay.var("w", shape=(3, 4)), relay.var("p", shape=(1, 3))
    group = relay.Function((p,), op.nn.relu(p)).with_attr("Composite", "dsp.relu")
    shared = op.nn.softmax(relay.Call(group, (op.nn.dense(x, w),)), axis=1)
    return IRModule.from_expr(relay.Function((x, w), op.add(shared, shared)))


def test_a_function_is_a_tree_of_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    RelayVisualizer(network(), PARAMS).render()
    tree = """@main([%x, %w])
`--Call
   |--add
   |--Call
   |  |--nn.softmax
   |  `--Call
   |     |--Func [%p]
   |     |  `--Call
   |     |     |--nn.relu
   |     |     `--Var(Input) name_hint: p shape: (1, 3) dtype: float32
   |     `--Call
   |        |--nn.dense
   |        |--Var(Input) name_hint: x shape: (1, 4) dtype: float32
   |        `--Var(Param) name_hint: w shape: (3, 4) dtype: float32
   `--Call (shown above)
"""
    assert capsys.readouterr().out == tree
    RelayVisualizer(network(), PARAMS, TermPlotter(), TermVizParser()).render(str(tmp_path / "net.txt"))
    assert (tmp_path / "net.txt").read_text() == tree


def test_a_value_used_twice_at_every_level_is_written_once(capsys: pytest.CaptureFixture[str]) -> None:
    x = relay.var("x", shape=(2,))
    value: Any = x
    for _ in range(60):
        value = op.add(value, value)
    RelayVisualizer(relay.Function((x,), value)).render()
    assert len(capsys.readouterr().out.splitlines()) < 200


def test_every_expression_is_a_node_and_every_use_an_edge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plotter = DotPlotter(
        graph_attr={"color": "red"},
        get_node_attr=lambda node: {"shape": "box" if "softmax" in node.type_name else "ellipse"},
        render_kwargs={"format": "svg"},
    )
    RelayVisualizer(network(), PARAMS, plotter, DotVizParser()).render(str(tmp_path / "net"))
    assert f"dot -Tsvg {tmp_path}/net.dot" in capsys.readouterr().out
    text = (tmp_path / "net.dot").read_text()
    nodes = {
        number: quoted or plain
        for number, quoted, plain in re.findall(r'^ +(\d+) \[label=(?:"([^"]*)"|(\w+))', text, re.MULTILINE)
    }
    edges = [(nodes[a].split("\\n")[0], nodes[b].split("\\n")[0]) for a, b in re.findall(r"(\d+) -> (\d+)", text)]
    assert sorted(edges) == sorted(
        [
            ("Var(Input)", "Call nn.relu"),
            ("Call nn.relu", "Func dsp.relu"),
            ("Func dsp.relu", "Call dsp.relu"),
            ("Var(Input)", "Call nn.dense"),
            ("Var(Param)", "Call nn.dense"),
            ("Call nn.dense", "Call dsp.relu"),
            ("Call dsp.relu", "Call nn.softmax"),
            *[("Call nn.softmax", "Call add")] * 2,
            ("Call add", "Func"),
        ]
    )
    assert "graph [color=red]" in text
    assert "Call nn.softmax\\naxis: 1" in nodes.values()
    assert next(line for line in text.splitlines() if "shape=box" in line).count("nn.softmax") == 1


def test_parsers_and_graphs_can_be_derived_from(capsys: pytest.CaptureFixture[str]) -> None:
    class Parser(VizParser):
        def __init__(self) -> None:
            self.delegate = TermVizParser()

        def get_node_edges(self, node: Any, relay_param: Any, node_to_id: Any) -> Any:
            if isinstance(node, relay.Var):
                return VizNode(node_to_id[node], "Variable", node.name_hint), []
            return self.delegate.get_node_edges(node, relay_param, node_to_id)

    class Graph(TermGraph):
        def node(self, viz_node: VizNode) -> None:
            super().node(VizNode(viz_node.identity, viz_node.type_name.upper(), viz_node.detail))

    class TreePlotter(TermPlotter):
        def create_graph(self, name: str) -> Graph:
            graph = self._name_to_graph[name] = Graph(name)
            return graph

    RelayVisualizer(network(), plotter=TreePlotter(), parser=Parser()).render()
    printed = capsys.readouterr().out
    assert "VARIABLE x" in printed
    assert "NN.DENSE" in printed


def test_what_is_no_module_is_refused() -> None:
    wrong: Any = 3
    with pytest.raises(ArgumentError, match="RelayVisualizer: expected a module or an expression, got 3"):
        RelayVisualizer(wrong)
