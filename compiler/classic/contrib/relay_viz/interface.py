"""What drawings of graphs are made of: nodes, edges, and what reads expressions and writes drawings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.op import Op
from compiler.relay.adt import Constructor
from compiler.relay.analysis.traversal import operands
from compiler.relay.expr import Call, Constant, GraphExpr, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.printer.names import Names
from compiler.relay.printer.values import ValueText, shown_attrs
from compiler.runtime.arrays.ndarray import NDArray

Numbers = Mapping[GraphExpr, str]
"""The identity of each expression's node."""


@dataclass(frozen=True)
class VizNode:
    """An expression in a drawing.

    ``node_type`` is its first line, such as ``Call nn.relu``, ``node_detail`` what follows, such as its attributes.
    """

    node_id: str
    node_type: str
    node_detail: str

    @property
    def identity(self) -> str:
        """The node's identity in the drawing."""
        return self.node_id

    @property
    def type_name(self) -> str:
        """The first line."""
        return self.node_type

    @property
    def detail(self) -> str:
        """What follows the first line."""
        return self.node_detail


@dataclass(frozen=True)
class VizEdge:
    """A value's use in a drawing, by the identities of two nodes."""

    start_node: str
    end_node: str

    @property
    def start(self) -> str:
        """The identity of the value's node."""
        return self.start_node

    @property
    def end(self) -> str:
        """The identity of the node that uses it."""
        return self.end_node


Parsed = tuple[VizNode | None, list[VizEdge]]
"""The node of an expression, if it is drawn, with the edges that end there."""


class VizParser(ABC):
    """Says how an expression is drawn."""

    @abstractmethod
    def get_node_edges(self, node: GraphExpr, relay_param: Mapping[str, NDArray], node_to_id: Numbers) -> Parsed:
        """Return the node of an expression, None if it is not drawn, with the edges that end there.

        ``relay_param`` has the parameters of the module by name, ``node_to_id`` the identity of each expression.
        """


class VizGraph(ABC):
    """A function in a drawing."""

    @abstractmethod
    def node(self, viz_node: VizNode) -> None:
        """Add a node."""

    @abstractmethod
    def edge(self, viz_edge: VizEdge) -> None:
        """Add an edge."""


class Plotter(ABC):
    """Writes drawings in some language."""

    @abstractmethod
    def create_graph(self, name: str) -> VizGraph:
        """Begin the drawing of a function."""

    @abstractmethod
    def render(self, filename: str | None) -> None:
        """Write the functions that were begun into a file, whose name has no ending yet, or print them."""


class DefaultVizParser(VizParser):
    """Draws an expression as a node with its attributes, and its operands as edges; operators are part of calls."""

    def __init__(self) -> None:
        self._values = ValueText(Names())

    def get_node_edges(self, node: GraphExpr, relay_param: Mapping[str, NDArray], node_to_id: Numbers) -> Parsed:
        """Return the node of an expression with the edges that end there.

        There is none for operators, constructors and functions of the module.
        """
        if isinstance(node, (Op, Constructor, GlobalVar)):
            return None, []
        number = node_to_id[node]
        parts = (node.body,) if isinstance(node, Function) else operands(node) if isinstance(node, GraphExpr) else ()
        edges = [VizEdge(node_to_id[part], number) for part in parts if self._is_drawn(part)]
        return VizNode(number, *self._described(node, relay_param)), edges

    def _is_drawn(self, expr: GraphExpr) -> bool:
        return not isinstance(expr, (Op, Constructor, GlobalVar))

    def _described(self, expr: RelayExpr, params: Mapping[str, NDArray]) -> tuple[str, str]:
        """Return the two parts of a node's text."""
        match expr:
            case Var():
                return f"Var({'Param' if expr.name_hint in params else 'Input'})", _variable(expr)
            case Constant():
                return "Const", f"shape: {tuple(expr.data.shape)}, dtype: {expr.data.dtype}"
            case Call():
                composite = expr.op.attrs.get("Composite") if isinstance(expr.op, Function) else None
                name = composite or getattr(expr.op, "name", None) or getattr(expr.op, "name_hint", "")
                return f"Call {name}", self._attributes(shown_attrs(expr))
            case Function():
                return f"Func {expr.attrs.get('Composite', '')}".rstrip(), self._attributes(expr.attrs)
            case TupleGetItem():
                return "TupleGetItem", f"idx: {expr.index}"
            case _:
                return type(expr).__name__, ""

    def _attributes(self, attrs: Mapping[str, Any]) -> str:
        return "\n".join(text.replace("=", ": ", 1) for text in self._values.attributes(attrs))


def _variable(var: Var) -> str:
    """Return the text below a variable: its name and, where it is known, its type."""
    type_ = var.type_annotation if var.type_annotation is not None else var.checked_type_
    shape, dtype = getattr(type_, "shape", None), getattr(type_, "dtype", None)
    if shape is None:
        return f"name_hint: {var.name_hint}"
    extents = ", ".join(str(extent) for extent in shape)
    return f"name_hint: {var.name_hint}\nshape: ({extents}{',' if len(shape) == 1 else ''})\ndtype: {dtype}"
