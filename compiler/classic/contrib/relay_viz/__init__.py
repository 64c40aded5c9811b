"""Draws graphs: as trees of text, or as a Graphviz file.

::

    RelayVisualizer(mod).render()                                                # prints
    RelayVisualizer(mod, plotter=DotPlotter(), parser=DotVizParser()).render("model")     # writes model.dot

A parser says how expressions are drawn, a plotter writes the drawing; both can be derived from.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.classic.contrib.relay_viz.dot import DotPlotter, DotVizParser
from compiler.classic.contrib.relay_viz.interface import Numbers, Plotter, VizEdge, VizGraph, VizNode, VizParser
from compiler.classic.contrib.relay_viz.terminal import TermPlotter, TermVizParser
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.relay.analysis.traversal import post_order_visit
from compiler.relay.expr import GraphExpr
from compiler.runtime.arrays.ndarray import NDArray

__all__ = [
    "DotPlotter", "DotVizParser", "Plotter", "RelayVisualizer", "TermPlotter", "TermVizParser", "VizEdge", "VizGraph",
    "VizNode", "VizParser",
]  # fmt: skip


class RelayVisualizer:
    """Draws the functions of a module.

    Variables of ``relay_param`` are marked; plotter and parser are those of the terminal where left out.
    """

    def __init__(
        self,
        relay_mod: IRModule | RelayExpr,
        relay_param: Mapping[str, NDArray] | None = None,
        plotter: Plotter | None = None,
        parser: VizParser | None = None,
    ) -> None:
        if isinstance(relay_mod, RelayExpr):
            relay_mod = IRModule.from_expr(relay_mod)
        if not isinstance(relay_mod, IRModule):
            raise ArgumentError(f"RelayVisualizer: expected a module or an expression, got {show(relay_mod)}")
        self._plotter = plotter or TermPlotter()
        self._parser = parser or TermVizParser()
        self._params = relay_param or {}
        count = 0
        for var, func in relay_mod.functions.items():
            parts: list[GraphExpr] = []
            post_order_visit(func, parts.append)
            numbers: dict[GraphExpr, str] = {part: str(count + at) for at, part in enumerate(parts)}
            count += len(parts)
            self._add_nodes(self._plotter.create_graph(var.name_hint), numbers)

    def _add_nodes(self, graph: VizGraph, node_to_id: Numbers) -> None:
        for expr in node_to_id:
            node, edges = self._parser.get_node_edges(expr, self._params, node_to_id)
            if node is not None:
                graph.node(node)
            for edge in edges:
                graph.edge(edge)

    def render(self, filename: str | None = None) -> None:
        """Write the drawing into a file, whose name a plotter may add an ending to, or print it."""
        self._plotter.render(filename)
