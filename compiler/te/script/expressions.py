"""Prints expressions as Python, as a person would write them in the body of a compute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.functor import Functor, operands_first
from compiler.ir.node import Node
from compiler.ir.structural import structural_equal
from compiler.te.program import NotExpressible
from compiler.te.program.kinds import callable_operators
from compiler.te.script.names import Names
from compiler.te.script.reducers import Reducers
from compiler.tir.expressions.builtin import REINTERPRET
from compiler.tir.expressions.reducer import max_value, min_value

_BINDING = {
    **dict.fromkeys(("*", "//", "%"), 3),
    "+": 2,
    "-": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 1),
}
"""How tightly Python's operators bind."""
_FUNCTIONS = {"max": "te.max", "min": "te.min", "and": "tir.all", "or": "tir.any", "truncmod": "tir.truncmod"}
_ATOM = 9
"""How tightly a name, a call or a literal binds."""
MAX_LINE = 88
"""Characters of an expression in one line; a longer one has a part of it named on a line of its own."""


class ExpressionWriter(Functor):
    """Writes the expressions of one computation.

    ``statements`` define what the expressions name: values that are used several times, and parts of long expressions.
    """

    def __init__(self, names: Names, reducers: Reducers) -> None:
        self.statements: list[str] = []
        self._names = names
        self._reducers = reducers
        self._uses: Counter[Node] = Counter()
        self._let_values: dict[Var, PrimExpr] = {}
        self._texts: dict[Node, tuple[str, int]] = {}

    def write(self, roots: Sequence[PrimExpr]) -> list[str]:
        """Return expressions as Python."""
        order = operands_first(roots, _operands)
        self._let_values = {n.var: n.value for n in order if isinstance(n, expr.Let)}
        self._uses = Counter(operand for n in order for operand in _operands(n))
        for n in order:
            text, binding = self.visit(n)
            if self._is_named(n, text):
                text, binding = self._named("value", text), _ATOM
            self._texts[n] = text, binding
        return [self._argument(root) for root in roots]

    def _is_named(self, n: PrimExpr, text: str) -> bool:
        if (
            isinstance(n, (Var, expr.IntImm, expr.FloatImm, expr.StringImm, expr.ProducerLoad, expr.Let, expr.Reduce))
            or n.dtype == "handle"
        ):
            return False
        return len(text) > MAX_LINE or (self._uses[n] > 1 and not isinstance(n, expr.Cast))

    def _named(self, hint: str, text: str) -> str:
        name = self._names.new(hint)
        self.statements.append(f"{name} = {text}")
        return name

    def _text(self, e: PrimExpr) -> str:
        return self._texts[e][0]

    def _argument(self, e: PrimExpr) -> str:
        """Return an expression where nothing beside it says what data type a literal has."""
        return self._constant(e) if _is_literal(e) and e.dtype != "int32" else self._text(e)

    def _constant(self, e: PrimExpr) -> str:
        text = self._text(e)
        return text if text.startswith("te.") else f'tir.const({text}, "{e.dtype}")'

    def _operands(self, n: expr.BinaryOp) -> tuple[str, str]:
        """Return two operands; a number of Python beside an expression is one of 32 bits."""
        if _is_literal(n.a) and _is_literal(n.b):
            return self._constant(n.a), self._constant(n.b)
        if n.a.dtype in ("int32", "float32"):
            return self._text(n.a), self._text(n.b)
        return self._argument(n.a), self._argument(n.b)

    # rules

    def visit_PrimExpr(self, n: PrimExpr) -> tuple[str, int]:
        raise NotExpressible(f"it contains a {type(n).__name__}, which a script does not say")

    def visit_Var(self, n: Var) -> tuple[str, int]:
        if n in self._let_values:
            value, binding = self._texts[self._let_values[n]]
            return (value, binding) if value.isidentifier() else (self._named(n.name, value), _ATOM)
        if n not in self._names:
            raise NotExpressible(f"the variable {n.name} belongs to none of its operations")
        return self._names[n], _ATOM

    def visit_IntImm(self, n: expr.IntImm) -> tuple[str, int]:
        return str(bool(n.value) if n.dtype == "bool" else n.value), _ATOM

    def visit_FloatImm(self, n: expr.FloatImm) -> tuple[str, int]:
        return _float_text(n), _ATOM

    def visit_StringImm(self, n: expr.StringImm) -> tuple[str, int]:
        return repr(n.value), _ATOM

    def visit_BinaryOp(self, n: expr.BinaryOp) -> tuple[str, int]:
        if type(n) is expr.Div and n.dtype.startswith("float"):
            return self._infix(n, "/", 3)
        if n.symbol in _BINDING:
            return self._infix(n, n.symbol, _BINDING[n.symbol])
        function = "tir.truncdiv" if type(n) is expr.Div else _FUNCTIONS.get(n.symbol)
        if function is None:
            return self.visit_PrimExpr(n)
        a, b = self._operands(n)
        return f"{function}({a}, {b})", _ATOM

    def _infix(self, n: expr.BinaryOp, symbol: str, binding: int) -> tuple[str, int]:
        (a, b), (left, right) = self._operands(n), (self._texts[n.a][1], self._texts[n.b][1])
        # A comparison beside a comparison would be a chain.
        a = f"({a})" if left < binding or left == binding == 1 or a.startswith("-") else a
        b = f"({b})" if right <= binding or b.startswith("-") else b
        return f"{a} {symbol} {b}", binding

    def visit_Not(self, n: expr.Not) -> tuple[str, int]:
        return f"tir.Not({self._argument(n.a)})", _ATOM

    def visit_Select(self, n: expr.Select) -> tuple[str, int]:
        parts = (n.condition, n.true_value, n.false_value)
        return f"tir.Select({', '.join(map(self._argument, parts))})", _ATOM

    def visit_Cast(self, n: expr.Cast) -> tuple[str, int]:
        value, binding = self._argument(n.value), self._texts[n.value][1]
        return f'{value if binding == _ATOM else f"({value})"}.astype("{n.dtype}")', _ATOM

    def visit_Let(self, n: expr.Let) -> tuple[str, int]:
        """Return the body: the name of the value was defined on a line before."""
        return self._texts[n.body]

    def visit_Call(self, n: expr.Call) -> tuple[str, int]:
        name = getattr(n.op, "name", "")
        if callable_operators().get(name) is not n.op:
            raise NotExpressible(f"it calls {name or n.op}, which is not a pure intrinsic")
        args = [f'"{n.dtype}"'] if n.op is REINTERPRET else []
        return f"{name}({', '.join([*args, *map(self._argument, n.args)])})", _ATOM

    def visit_ProducerLoad(self, n: expr.ProducerLoad) -> tuple[str, int]:
        tensor = self._names[n.producer]
        indices = ", ".join(self._argument(i) for i in n.indices)
        return f"{tensor}[{indices}]" if indices else f"{tensor}()", _ATOM

    def visit_Reduce(self, n: expr.Reduce) -> tuple[str, int]:
        axes = ", ".join(self._names[axis.var] for axis in n.axis)
        values = ", ".join(map(self._argument, n.source))
        several = len(n.source) > 1
        extra = "" if _is_true(n.condition) else f", where={self._argument(n.condition)}"
        if n.init:
            starts = ", ".join(map(self._argument, n.init))
            extra += f", init=({starts})" if several else f", init={starts}"
        reducer = self._reducers.name_of(n.combiner)
        return f"{reducer}({f'({values})' if several else values}, axis=[{axes}]{extra})", _ATOM


def _operands(n: Node) -> list[PrimExpr]:
    """Return the expressions that an expression is made of; how a reduction combines values is written elsewhere."""
    if isinstance(n, expr.Let):
        return [n.value, n.var, n.body]
    parts: list[PrimExpr] = []
    for name in type(n).children:
        value = getattr(n, name)
        parts += [v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, PrimExpr)]
    return parts


def _is_literal(e: PrimExpr) -> bool:
    return isinstance(e, (expr.IntImm, expr.FloatImm))


def _is_true(e: PrimExpr) -> bool:
    return isinstance(e, expr.IntImm) and bool(e.value)


def _float_text(n: expr.FloatImm) -> str:
    """Return the shortest literal that is the same number in its data type; its limits have names."""
    for name, limit in (("min_value", min_value), ("max_value", max_value)):
        if structural_equal(n, limit(n.dtype)):
            return f'te.{name}("{n.dtype}")'
    if not np.isfinite(n.value):
        return f'float("{n.value}")'
    short = float(str(np.float32(n.value)))
    return repr(short if n.dtype == "float32" and np.float32(short) == np.float32(n.value) else n.value)
