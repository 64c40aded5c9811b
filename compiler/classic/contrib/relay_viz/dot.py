"""Drawings in Graphviz' language, DOT; which needs no other program to be written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from compiler.classic.contrib.dot import attributes, quoted
from compiler.classic.contrib.relay_viz.interface import DefaultVizParser, Plotter, VizEdge, VizGraph, VizNode

Attributes = Mapping[str, str]


class DotVizParser(DefaultVizParser):
    """Draws an expression as a node with its attributes, and its operands as edges."""


def _by_kind(node: VizNode) -> dict[str, str]:
    shapes = {"Var": "ellipse", "Const": "note", "Func": "component"}
    kind = next((kind for kind in shapes if node.type_name.startswith(kind)), "")
    return {"shape": shapes.get(kind, "box")}


class DotGraph(VizGraph):
    """A function as a cluster; the mappings are Graphviz' attributes of it, of all its nodes and of all its edges."""

    def __init__(
        self,
        name: str,
        graph_attr: Attributes | None = None,
        node_attr: Attributes | None = None,
        edge_attr: Attributes | None = None,
        get_node_attr: Callable[[VizNode], Attributes] | None = None,
    ) -> None:
        self._node_attributes = get_node_attr or _by_kind
        self._lines = [f"subgraph {quoted(f'cluster_{name}')} {{", f"  label={quoted(name)};"]
        for kind, given in (("graph", graph_attr), ("node", node_attr), ("edge", edge_attr)):
            if given:
                self._lines.append(f"  {kind} {attributes(given)};")

    def node(self, viz_node: VizNode) -> None:
        """Add a node."""
        label = "\n".join(part for part in (viz_node.type_name, viz_node.detail) if part)
        given = {"label": label, **self._node_attributes(viz_node)}
        self._lines.append(f"  {quoted(viz_node.identity)} {attributes(given)};")

    def edge(self, viz_edge: VizEdge) -> None:
        """Add an edge."""
        self._lines.append(f"  {quoted(viz_edge.start)} -> {quoted(viz_edge.end)};")

    @property
    def digraph(self) -> str:
        """The text of the cluster."""
        return "\n".join([*self._lines, "}"])


class DotPlotter(Plotter):
    """Writes functions as the clusters of a directed graph; the first mappings are as of :class:`DotGraph`.

    ``render_kwargs`` are of Graphviz' Python package, which is not called from here: its ``format`` is named in the
    command for the picture that is printed.
    """

    def __init__(
        self,
        graph_attr: Attributes | None = None,
        node_attr: Attributes | None = None,
        edge_attr: Attributes | None = None,
        get_node_attr: Callable[[VizNode], Attributes] | None = None,
        render_kwargs: Mapping[str, object] | None = None,
    ) -> None:
        self._attributes = (graph_attr, node_attr, edge_attr, get_node_attr)
        self._format = str((render_kwargs or {}).get("format", "pdf"))
        self._graphs: dict[str, DotGraph] = {}

    def create_graph(self, name: str) -> DotGraph:
        """Begin the cluster of a function."""
        self._graphs[name] = DotGraph(name, *self._attributes)
        return self._graphs[name]

    def render(self, filename: str | None = None) -> None:
        """Write the clusters into ``filename.dot``, and print the command with which Graphviz makes a picture of it.

        Without a name the text is printed.
        """
        text = "\n".join(["digraph relay {", *(graph.digraph for graph in self._graphs.values()), "}"])
        if filename is None:
            print(text)
            return
        path = Path(f"{filename}.dot")
        path.write_text(text + "\n", encoding="utf-8")
        print(f"relay_viz: wrote {path}; dot -T{self._format} {path} -o {filename}.{self._format} makes the picture")
