"""Drawings of graphs as files and as text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from compiler import relay
from compiler.contrib.relay_viz import RelayVisualizer, TermPlotter
from compiler.ir.attrs import DictAttrs
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.relay.inference import infer_module

nn: Any = relay.op.nn


def network() -> IRModule:
    x, w, p = relay.var("x", shape=(1, 4)), relay.var("w", shape=(3, 4)), relay.var("p", shape=(1, 3))
    group = relay.Function((p,), nn.relu(p), attrs=DictAttrs(Primitive=1))
    body = nn.softmax(relay.Call(group, (nn.dense(x, w),)), axis=1)
    return infer_module(IRModule.from_expr(relay.Function((x, w), body)))


def test_every_expression_is_a_node_and_every_use_an_edge(tmp_path: Path) -> None:
    found = RelayVisualizer(network(), {"w": None}).render(str(tmp_path / "net"))
    assert found == str(tmp_path / "net.dot")
    text = Path(found).read_text()
    nodes = dict(re.findall(r'^ +(n\d+) \[label="([^"]*)', text, re.MULTILINE))
    edges = [(nodes[a], nodes[b], t) for a, b, t in re.findall(r'(n\d+) -> (n\d+) \[label="([^"]*)"', text)]
    assert edges == [
        ("%p", "nn.relu", "Tensor[(1, 3), float32]"),
        ("nn.relu", "function\\nPrimitive=1", "Tensor[(1, 3), float32]"),
        ("%x", "nn.dense\\nunits=None", "Tensor[(1, 4), float32]"),
        ("%w\\nparameter", "nn.dense\\nunits=None", "Tensor[(3, 4), float32]"),
        ("function\\nPrimitive=1", "call", "fn (Tensor[(1, 3), float32]) -> Tensor[(1, 3), float32]"),
        ("nn.dense\\nunits=None", "call", "Tensor[(1, 3), float32]"),
        ("call", "nn.softmax\\naxis=1", "Tensor[(1, 3), float32]"),
    ]
    assert text.count("subgraph") == 2
    assert text.count("{") == text.count("}")


def test_text_and_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    viz = RelayVisualizer(network())
    assert viz.render() is None
    printed = capsys.readouterr().out
    assert re.search(r"^@main\n  function \d+\n    #\d+ %p : Tensor", printed)
    assert re.search(r"#\d+ nn\.softmax\(#\d+\) axis=1 : Tensor\[\(1, 3\), float32\]", printed)
    assert viz.render(str(tmp_path / "net"), format="svg") == str(tmp_path / "net.dot")
    assert f"dot -Tsvg {tmp_path}/net.dot" in capsys.readouterr().out
    assert Path(str(viz.render(str(tmp_path / "net"), format="txt"))).read_text() == TermPlotter().text(viz.graphs)


def test_what_is_no_module_is_refused() -> None:
    wrong: Any = 3
    with pytest.raises(ArgumentError, match="RelayVisualizer: expected a module or an expression, got 3"):
        RelayVisualizer(wrong)
