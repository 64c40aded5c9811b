"""Draws graphs: as a Graphviz file, which needs no other program to be written, or as plain text.

::

    RelayVisualizer(mod).render("model")     # writes model.dot; ``dot -Tsvg model.dot`` makes a picture of it
    RelayVisualizer(mod).render()            # prints
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.module import GlobalVar, IRModule
from compiler.ir.op import Op
from compiler.relay.adt import Constructor
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.expr import Call, Constant, GraphExpr, Let, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.printer.names import Names
from compiler.relay.printer.values import ValueText, shown_attrs
from compiler.runtime.ndarray import NDArray

__all__ = ["DotPlotter", "RelayVisualizer", "TermPlotter", "VizGraph", "VizNode"]

_SHAPES = {"Var": "box", "Constant": "note", "Function": "component", "Call": "ellipse"}


@dataclass(frozen=True, slots=True)
class VizNode:
    """An expression in a drawing.

    Attributes
    ----------
    identity : int
        Its number in the drawing.
    kind : str
        The class of the expression, e.g. ``Call``.
    label : str
        The first line of the node, e.g. the name of the operator.
    detail : str
        The second line, e.g. the operator's attributes.
    type : str
        The type of its value; empty if it has not been inferred.
    inputs : tuple of int
        The numbers of its operands.
    """

    identity: int
    kind: str
    label: str
    detail: str
    type: str
    inputs: tuple[int, ...]


@dataclass(slots=True)
class VizGraph:
    """A function in a drawing.

    Attributes
    ----------
    name : str
        Its title.
    nodes : list of VizNode
        The expressions of its body, in the order of evaluation.
    inner : list of VizGraph
        The functions that are written inside of it.
    """

    name: str
    nodes: list[VizNode] = field(default_factory=list)
    inner: list[VizGraph] = field(default_factory=list)


class Plotter(Protocol):
    """Writes drawings in some language."""

    @property
    def suffix(self) -> str:
        """The ending of its files, with the dot."""

    def text(self, graphs: Iterable[VizGraph]) -> str:
        """Return the text of a file."""


class DotPlotter:
    """Writes drawings in Graphviz' language, DOT."""

    suffix = ".dot"

    def text(self, graphs: Iterable[VizGraph]) -> str:
        """Return the text of a file.

        Parameters
        ----------
        graphs : iterable of VizGraph
            The functions to draw; each becomes a cluster.

        Returns
        -------
        str
            A directed graph.
        """
        lines = ["digraph relay {", '  node [fontname="sans-serif", fontsize=10];', "  edge [fontsize=9];"]
        edges: list[str] = []
        types: dict[int, str] = {}
        for graph in graphs:
            self._graph(graph, "  ", lines, edges, types)
        return "\n".join([*lines, *edges, "}"]) + "\n"

    def _graph(self, graph: VizGraph, indent: str, lines: list[str], edges: list[str], types: dict[int, str]) -> None:
        lines.append(f"{indent}subgraph {_quoted(f'cluster_{graph.name}')} {{")
        lines.append(f"{indent}  label={_quoted(graph.name)};")
        for inner in graph.inner:
            self._graph(inner, indent + "  ", lines, edges, types)
        for node in graph.nodes:
            text = "\n".join(part for part in (node.label, node.detail) if part)
            lines.append(
                f"{indent}  n{node.identity} [label={_quoted(text)}, shape={_SHAPES.get(node.kind, 'plain')}];"
            )
            types[node.identity] = node.type
            edges += [f"  n{i} -> n{node.identity} [label={_quoted(types.get(i, ''))}];" for i in node.inputs]
        lines.append(f"{indent}}}")


class TermPlotter:
    """Writes drawings as plain text, one expression a line."""

    suffix = ".txt"

    def text(self, graphs: Iterable[VizGraph]) -> str:
        """Return the lines.

        Parameters
        ----------
        graphs : iterable of VizGraph
            The functions to draw.

        Returns
        -------
        str
            One line for each expression, such as ``#2 nn.relu(#1) : Tensor[(1, 10), float32]``.
        """
        lines: list[str] = []
        for graph in graphs:
            self._graph(graph, "", lines)
        return "\n".join(lines) + "\n"

    def _graph(self, graph: VizGraph, indent: str, lines: list[str]) -> None:
        lines.append(f"{indent}{graph.name}")
        for inner in graph.inner:
            self._graph(inner, indent + "  ", lines)
        for node in graph.nodes:
            inputs = f"({', '.join(f'#{i}' for i in node.inputs)})" if node.inputs else ""
            parts = [f"#{node.identity} {node.label}{inputs}", node.detail, f": {node.type}" if node.type else ""]
            lines.append(f"{indent}  {' '.join(part for part in parts if part)}")


_PLOTTERS: dict[str, Callable[[], Plotter]] = {"dot": DotPlotter, "txt": TermPlotter}


class RelayVisualizer:
    """Draws the functions of a module.

    Parameters
    ----------
    relay_mod : IRModule or Expr
        What to draw.
    relay_param : mapping of str to NDArray, optional
        Parameters by name; their variables are marked.
    plotter : DotPlotter, TermPlotter or object with their ``text`` and ``suffix``, optional
        What writes the drawing; by default the ``format`` given to :meth:`render` decides.

    Raises
    ------
    ArgumentError
        If ``relay_mod`` is neither module nor expression.
    """

    def __init__(
        self,
        relay_mod: IRModule | RelayExpr,
        relay_param: Mapping[str, NDArray] | None = None,
        plotter: Plotter | None = None,
    ) -> None:
        if isinstance(relay_mod, RelayExpr):
            relay_mod = IRModule.from_expr(relay_mod)
        if not isinstance(relay_mod, IRModule):
            raise ArgumentError(f"RelayVisualizer: expected a module or an expression, got {show(relay_mod)}")
        self._plotter = plotter
        self._params = set(relay_param or ())
        self._number: dict[RelayExpr, int] = {}
        self._values = ValueText(Names())
        self.graphs = [self._graph(f"@{var.name_hint}", func) for var, func in relay_mod.items()]

    def render(self, filename: str | None = None, format: str = "dot") -> str | None:
        """Write the drawing into a file, or print it as text if there is no name for one.

        Parameters
        ----------
        filename : str, optional
            The file's name without its ending.
        format : str
            ``dot`` or ``txt``.  For pictures (``svg``, ``pdf``, ``png``) a ``.dot`` file is written, and the command is
            printed with which Graphviz makes the picture.

        Returns
        -------
        str or None
            The name of the file that was written.
        """
        if filename is None:
            print((self._plotter or TermPlotter()).text(self.graphs), end="")
            return None
        plotter = self._plotter or _PLOTTERS.get(format, DotPlotter)()
        path = Path(f"{filename}{plotter.suffix}")
        path.write_text(plotter.text(self.graphs), encoding="utf-8")
        if self._plotter is None and format not in _PLOTTERS:
            print(f"relay_viz: wrote {path}; dot -T{format} {path} -o {filename}.{format} makes the picture")
        return str(path)

    def _graph(self, name: str, func: RelayExpr) -> VizGraph:
        graph = VizGraph(name)
        for part in post_order(func, _operands_within(func)):
            if part is func or part in self._number or isinstance(part, (Op, GlobalVar, Constructor)):
                continue
            if isinstance(part, Function):
                graph.inner.append(self._graph(f"function {len(self._number)}", part))
            self._number[part] = len(self._number)
            graph.nodes.append(self._node(part))
        return graph

    def _node(self, expr: RelayExpr) -> VizNode:
        label, detail = self._described(expr)
        type_ = expr.checked_type_ if expr.checked_type_ is not None else getattr(expr, "type_annotation", None)
        parts = (expr.value, expr.body) if isinstance(expr, Let) else operands(expr)
        inputs = tuple(self._number[o] for o in parts if o in self._number)
        return VizNode(
            self._number[expr], type(expr).__name__, label, detail, "" if type_ is None else str(type_), inputs
        )

    def _described(self, expr: RelayExpr) -> tuple[str, str]:
        match expr:
            case Var():
                return f"%{expr.name_hint}", "parameter" if expr.name_hint in self._params else ""
            case Constant():
                return (
                    (str(expr), "")
                    if not expr.data.shape
                    else ("constant", f"{expr.data.dtype}{list(expr.data.shape)}")
                )
            case Call():
                name = getattr(expr.op, "name", None) or getattr(expr.op, "name_hint", "call")
                return str(name), ", ".join(self._values.attributes(shown_attrs(expr)))
            case TupleGetItem():
                return f".{expr.index}", ""
            case Let():
                return f"let %{expr.var.name_hint}", ""
            case Function():
                return "function", ", ".join(self._values.attributes(expr.attrs))
            case _:
                return type(expr).__name__, ""


def _operands_within(root: RelayExpr) -> Callable[[GraphExpr], tuple[GraphExpr, ...]]:
    """Return a function that lists the operands of an expression; functions written inside of ``root`` have none."""

    def parts(expr: GraphExpr) -> tuple[GraphExpr, ...]:
        if isinstance(expr, Function):
            return (*expr.params, expr.body) if expr is root else ()
        return (expr.var, *operands(expr)) if isinstance(expr, Let) else operands(expr)

    return parts


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
