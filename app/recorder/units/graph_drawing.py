"""Extracts the nodes and edges of a graph drawing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from app.artifacts import Drawing, GraphEdge, GraphNode, NodeKind, Weight, drawing_key
from app.recorder.measuring.weights import Weights
from compiler.ir.dtype import is_float
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.ir.op import Op
from compiler.ir.origin import Span, named_origins
from compiler.ir.printing.text import TextBuilder
from compiler.relay.adt import Constructor, Match, Pattern, PatternConstructor, PatternTuple, PatternVar
from compiler.relay.analysis import operands
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.operator import RelayOp
from compiler.relay.ty import TensorType, Type

MAX_NODES = 4_000
"""The maximum number of nodes of a drawn graph."""
MAX_SCOPES = 8
"""The maximum nesting depth of drawn bodies."""
MAX_ATTRIBUTE = 60
"""The maximum length of a shown attribute."""
MAX_LAYERS = 50
"""The maximum number of layer names per node or kernel."""


def draw_module(module: IRModule, name: str, out: TextBuilder | None, weights: Weights | None = None) -> Drawing | None:
    """Extract the drawing of a module's main function; None if there is none or it is too large.

    Parameters
    ----------
    out : TextBuilder, optional
        The module's listing, with the line of each node.
    weights : Weights, optional
        The statistics of constants; by default computed anew.
    """
    func = next((f for var, f in module.items() if var.name_hint == "main"), None)
    if not isinstance(func, Function):
        return None
    lines: dict[Node | Op, int] = {node: line for node, (line, _) in out.positions.items()} if out is not None else {}
    walk = _Walk(lines, weights or Weights())
    walk.function(func, "")
    if not 0 < len(walk.nodes) <= MAX_NODES:
        return None
    drawing = Drawing(key="", name=name, nodes=walk.nodes, edges=walk.edges)
    return msgspec.structs.replace(drawing, key=drawing_key(drawing))


class _Walk:
    """Visits a function in evaluation order; values are represented by the indices of their nodes."""

    def __init__(self, lines: Mapping[Node | Op, int], weights: Weights) -> None:
        self.nodes: list[GraphNode] = []
        self.edges: list[GraphEdge] = []
        self._lines = lines
        self._weights = weights
        self._values: dict[GraphExpr, list[int]] = {}
        self._sources: dict[GraphExpr, GraphExpr] = {}
        """The arguments of a fused function, by parameter."""
        self._seen: Counter[str] = Counter()
        self._scope: list[str] = []

    def function(self, func: Function, group: str) -> list[int]:
        """Draw a function's body and return the nodes of its value."""
        data = _data_parameters(func.body)
        for param in func.params:
            if param not in self._values:
                self._values[param] = [self._add(param, param.name_hint, "input", "")] if param in data else []
        return self.value(func.body, group)

    def value(self, root: GraphExpr, group: str) -> list[int]:
        """Return the nodes of a value, drawing new ones without recursion along chains."""
        todo = [root]
        while todo:
            expr = todo[-1]
            if expr in self._values:
                todo.pop()
                continue
            missing = [part for part in _inputs(expr) if part not in self._values]
            if missing:
                todo.extend(reversed(missing))
                continue
            todo.pop()
            self._values[expr] = self._draw(expr, group)
        return self._values[root]

    def _draw(self, expr: GraphExpr, group: str) -> list[int]:
        match expr:
            case Tuple():
                return [node for part in expr.fields for node in self._values[part]]
            case TupleGetItem():
                return self._values[expr.tuple_value]
            case Let():
                self._values[expr.var] = self.value(expr.value, group)
                return self.value(expr.body, group)
            case Call(op=Function() as func) if _is_fused(func):
                return self._fused(expr, func)
            case Call():
                return [self._call(expr, group)]
            case If():
                branches = [("then", (), expr.true_branch), ("else", (), expr.false_branch)]
                return [self._branching(expr, "if", branches, group)]
            case Match():
                clauses = [(_pattern_text(clause.lhs), (), clause.rhs) for clause in expr.clauses]
                return [self._branching(expr, "match", clauses, group)]
            case Var() | Constant() | Op() | GlobalVar() | Constructor():
                return []
            case Function():
                return [self._branching(expr, "fn", [("", expr.params, expr.body)], group)]
            case _:
                return [self._control(expr, type(expr).__name__, group)]

    def _fused(self, call: Call, func: Function) -> list[int]:
        """Draw the operators of a fused function as a group."""
        for param, arg in zip(func.params, call.args, strict=True):
            self._values[param] = self._values[arg]
            self._sources[param] = self._sources.get(arg, arg)
        self._seen["group"] += 1
        name = f"{_group_name(func)} {self._seen['group']}"
        return self.value(func.body, name)

    def _call(self, call: Call, group: str) -> int:
        op = call.op
        kind: NodeKind = "operator" if isinstance(op, RelayOp) else "function"
        label = op.name if isinstance(op, RelayOp) else getattr(op, "name_hint", "call")
        node = self._add(call, label, kind, group, _attributes(call))
        closure = [op] if isinstance(op, Var) else []
        for arg in (*closure, *call.args):
            for source in dict.fromkeys(self._values.get(arg, ())):
                self.edges.append(GraphEdge(source, node, _type_text(arg)))
        return node

    def _branching(
        self, expr: GraphExpr, label: str, bodies: Sequence[tuple[str, Sequence[Var], GraphExpr]], group: str
    ) -> int:
        """Draw the bodies of an expression in boxes, and the node that joins their values."""
        self._seen[label] += 1
        title = f"{label} {self._seen[label]}"
        values = [
            (body, source) for name, params, body in bodies for source in self._body(f"{title} {name}", params, body)
        ]
        node = self._control(expr, label, group)
        self.edges += [GraphEdge(source, node, _type_text(body)) for body, source in dict.fromkeys(values)]
        return node

    def _body(self, name: str, params: Sequence[Var], body: GraphExpr) -> list[int]:
        """Draw a body in a box, and return the nodes of its value."""
        if len(self._scope) >= MAX_SCOPES:
            return []
        self._scope.append(name.strip()[:MAX_ATTRIBUTE])
        for param in params:
            self._values[param] = [self._add(param, param.name_hint, "input", "")]
        values = self.value(body, "")
        self._scope.pop()
        return values

    def _control(self, expr: GraphExpr, label: str, group: str) -> int:
        node = self._add(expr, label, "control", group)
        for part in _inputs(expr):
            self.edges += [GraphEdge(source, node, _type_text(part)) for source in dict.fromkeys(self._values[part])]
        return node

    def _add(self, expr: GraphExpr, label: str, kind: NodeKind, group: str, detail: str = "") -> int:
        origins = sorted(expr.span)
        key = f"{label}:{origins[-1] if origins else ''}"
        self._seen[key] += 1
        self.nodes.append(
            GraphNode(
                key=f"{key}:{self._seen[key]}",
                label=label,
                kind=kind,
                detail=detail,
                type=_type_text(expr),
                attributes=_all_attributes(expr) if isinstance(expr, Call) else {},
                weights=self._weights_of(expr) if isinstance(expr, Call) else [],
                constants=_constant_arguments(expr, self._values) if isinstance(expr, Call) else [],
                group=group,
                scope=list(self._scope),
                line=self._lines.get(expr, 0),
                origins=origins,
                layers=layer_names(expr.span),
            )
        )
        return len(self.nodes) - 1

    def _weights_of(self, call: Call) -> list[Weight]:
        """Return the statistics of a call's constant arguments, including those of a fused function."""
        made = (
            self._weights.of(source.data, _input_name(call, index), _shape_text(source.tensor_type))
            for index, arg in enumerate(call.args)
            if isinstance(source := self._sources.get(arg, arg), Constant)
        )
        return [weight for weight in made if weight is not None]


def layer_names(span: Span) -> list[str]:
    """Return the layers of an imported model from which a span originates, in the model's order.

    Parameters
    ----------
    span : Span
        A span of the active origin table.

    Returns
    -------
    list of str
        Empty if nothing was imported by name.
    """
    return list(dict.fromkeys(origin.name for origin in named_origins(span)))[:MAX_LAYERS]


def _inputs(expr: GraphExpr) -> tuple[GraphExpr, ...]:
    """Return the inputs of an expression, without bodies."""
    if isinstance(expr, Let):
        return ()
    if isinstance(expr, Call):
        return expr.args
    if isinstance(expr, Function):
        return ()
    if isinstance(expr, If):
        return (expr.cond,)
    if isinstance(expr, Match):
        return (expr.data,)
    return operands(expr)


def _data_parameters(body: GraphExpr) -> set[Var]:
    """Return the data parameters: all that are not exclusively weights of operators."""
    data: set[Var] = set()
    seen = set()
    todo = [body]
    while todo:
        expr = todo.pop()
        if expr in seen:
            continue
        seen.add(expr)
        if isinstance(expr, Call) and (isinstance(expr.op, RelayOp) or _is_fused(expr.op)):
            weights = _weights(expr)
            todo += [arg for arg in expr.args if arg not in weights]
        elif isinstance(expr, Var):
            data.add(expr)
        else:
            todo += operands(expr)
    return data


def _pattern_text(pattern: Pattern) -> str:
    """Format a match pattern as in the text format: ``Cons(%head, _)``."""
    match pattern:
        case PatternVar():
            return f"%{pattern.var.name_hint}"
        case PatternConstructor() if not pattern.patterns:
            return pattern.constructor.name_hint
        case PatternConstructor():
            return f"{pattern.constructor.name_hint}({', '.join(map(_pattern_text, pattern.patterns))})"
        case PatternTuple():
            return f"({', '.join(map(_pattern_text, pattern.patterns))})"
    return "_"


def _is_fused(op: GraphExpr) -> bool:
    return isinstance(op, Function) and "Primitive" in op.attrs


def _weights(call: Call) -> list[GraphExpr]:
    """Return the parameters that are weight arguments of an operator or fused function."""
    if isinstance(call.op, Function):
        inside = _data_parameters(call.op.body)
        return [a for p, a in zip(call.op.params, call.args, strict=True) if isinstance(a, Var) and p not in inside]
    if not call.args or isinstance(call.args[0], Constant):
        return []  # the operator is applied to what follows, such as x in 1 - x
    first, *others = call.args
    return [arg for arg in others if isinstance(arg, Var) and arg is not first and not _selects(arg, first)]


def _selects(arg: GraphExpr, data: GraphExpr) -> bool:
    """Return whether an argument is indices into floating-point data, or a mask of it: no weights are."""
    kinds = [getattr(expr, "checked_type_", None) or getattr(expr, "type_annotation", None) for expr in (arg, data)]
    dtypes = [kind.dtype for kind in kinds if isinstance(kind, TensorType)]
    return len(dtypes) == 2 and is_float(dtypes[1]) and not is_float(dtypes[0])


def _constant_arguments(call: Call, values: dict[GraphExpr, list[int]]) -> list[str]:
    return [
        f"{_input_name(call, index)} {_constant_text(arg)}"
        for index, arg in enumerate(call.args)
        if not values.get(arg) and isinstance(arg, (Var, Constant))
    ]


def _input_name(call: Call, index: int) -> str:
    names = tuple(call.op.inputs) if isinstance(call.op, RelayOp) else ()
    return names[index] if index < len(names) else f"argument {index}"


def _constant_text(arg: Var | Constant) -> str:
    if isinstance(arg, Constant) and arg.data.shape == ():
        return f"{arg.value.item():g}"
    if isinstance(arg, Constant):
        return _shape_text(arg.tensor_type)
    return _type_text(arg) or arg.name_hint


def _type_text(expr: GraphExpr) -> str:
    return type_text(getattr(expr, "checked_type_", None) or getattr(expr, "type_annotation", None))


def type_text(kind: Type | None) -> str:
    """Return a type in the words of drawings; empty if it is not known."""
    if isinstance(kind, TensorType):
        return _shape_text(kind)
    return str(kind) if kind is not None else ""


def _shape_text(kind: TensorType) -> str:
    dims = ", ".join(str(d) if isinstance(d, int) else "?" for d in kind.dims)
    return f"({dims}) {kind.dtype}"


def _attributes(call: Call) -> str:
    if not isinstance(call.op, RelayOp):
        return ""
    declared = call.op.attributes
    attributes = [f"{k}={_short(v)}" for k, v in call.attrs.items() if declared[k].default != v and v not in (None, "")]
    return ", ".join(attributes)


def _all_attributes(call: Call) -> dict[str, str]:
    if not isinstance(call.op, RelayOp):
        return {}
    attributes = ((name, _short(value)) for name, value in call.attrs.items() if value not in (None, ""))
    return {name: text for name, text in attributes if len(text) <= MAX_ATTRIBUTE}


def _short(value: object) -> str:
    if isinstance(value, tuple):
        return "×".join(str(v) for v in value) if all(isinstance(v, int) for v in value) else str(value)
    return str(value)


def _group_name(func: Function) -> str:
    """Return the operator names of a fused function, without namespaces."""
    names: list[str] = []
    seen = set()
    todo: list[GraphExpr] = [func.body]
    while todo:
        expr = todo.pop()
        if expr in seen:
            continue
        seen.add(expr)
        if isinstance(expr, Call) and isinstance(expr.op, RelayOp):
            names.append(expr.op.name.rpartition(".")[2])
        todo += operands(expr)
    distinct = list(dict.fromkeys(reversed(names)))
    return " ".join(distinct[:6]) + (" …" if len(distinct) > 6 else "")
