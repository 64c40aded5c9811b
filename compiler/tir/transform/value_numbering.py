"""Value numbering: equal expressions get equal numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.functor import parts_of
from compiler.ir.node import Node
from compiler.ir.recursion import deep
from compiler.tir.statements.buffer import BufferLoad


class Facts(NamedTuple):
    """Facts about an expression: expressions with equal ``number`` have the same value.

    ``vars`` is a set of variables, one bit each.
    """

    number: int
    size: int
    computes: bool
    vars: int


class ValueNumbering:
    """Gives equal expressions equal numbers (value numbering), each object looked at once."""

    def __init__(self, equivalent: bool) -> None:
        self.equivalent = equivalent
        self._analyzer = Analyzer()
        self._normal_forms: dict[object, int] = {}
        self._numbers: dict[object, int] = {}
        self._bits: dict[Var, int] = {}
        self._facts: dict[object, Facts] = {}
        self._largest: dict[Node, tuple[PrimExpr, ...]] = {}

    def facts(self, e: PrimExpr) -> Facts:
        """Return the facts about an expression."""
        key = (
            (e.dtype, e.value) if type(e) is expr.IntImm else e
        )  # a dictionary compares constants as programs do, slowly
        facts = self._facts.get(key)
        if facts is None:
            facts = self._facts[key] = self._look_deeper(e) if e.children else self._look(e)
        return facts

    @deep
    def _look_deeper(self, e: PrimExpr) -> Facts:
        return self._look(e)

    def bit(self, var: Var) -> int:
        """Return the set that holds just this variable."""
        return self._bits.setdefault(var, 1 << len(self._bits))

    def _look(self, e: PrimExpr) -> Facts:
        if isinstance(e, expr.BinaryOp):
            a, b = self.facts(e.a), self.facts(e.b)
            computes = a.computes and b.computes
            key: object = (type(e), e.dtype, a.number, b.number)
            if self.equivalent and computes:
                key = self._normal_key(e, a.number, b.number)
            return Facts(self._number(key), 1 + a.size + b.size, computes, a.vars | b.vars)
        if isinstance(e, Var):
            return Facts(self._number((Var, e)), 1, True, self.bit(e))
        if isinstance(e, (expr.IntImm, expr.FloatImm, expr.StringImm)):
            return Facts(self._number((type(e), e.dtype, repr(e.value))), 1, True, 0)
        number, size, computes, uses = [], 1, not isinstance(e, _OPAQUE), 0
        for part in map(self.facts, parts_of(e, PrimExpr)):
            number.append(part.number)
            size += part.size
            computes = computes and part.computes
            uses |= part.vars
        key = (type(e), e.dtype, getattr(e, "op", None) or getattr(e, "buffer", None), *number)
        return Facts(self._number(key), size, computes, uses)

    def _normal_key(self, e: expr.BinaryOp, *numbers: int) -> object:
        """Return a key that expressions share whose values are equal by the laws of arithmetic."""
        if dt.is_int(e.dtype):
            return ("normal form", self._number_of_form(self._analyzer.simplify(e)))
        if not isinstance(e, _COMMUTATIVE):
            return (type(e), e.dtype, *numbers)
        return _unordered(e, lambda part: self.facts(part).number)

    def _number_of_form(self, e: PrimExpr) -> int:
        """Number simplified expressions, whose operands may still stand in any order."""
        if isinstance(e, _COMMUTATIVE):
            key: object = _unordered(e, self._number_of_form)
        elif isinstance(e, Var):
            key = (Var, e)
        elif isinstance(e, (expr.IntImm, expr.FloatImm, expr.StringImm)):
            key = (type(e), e.dtype, repr(e.value))
        else:
            own = getattr(e, "op", None) or getattr(e, "buffer", None)
            key = (type(e), e.dtype, own, *map(self._number_of_form, parts_of(e, PrimExpr)))
        return self._normal_forms.setdefault(key, len(self._normal_forms))

    def _number(self, key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def eligible(self, e: PrimExpr) -> bool:
        """Return whether ``e`` may become a variable: it computes something, from variables and constants alone."""
        facts = self.facts(e)
        return facts.computes and facts.size > 1 and not isinstance(e, (expr.Ramp, expr.Broadcast))

    def largest(self, e: PrimExpr) -> tuple[PrimExpr, ...]:
        """Return the largest eligible expressions within ``e``."""
        if not e.children:
            return ()
        parts = self._largest.get(e)
        if parts is None:
            parts = self._largest[e] = (e,) if self.eligible(e) else self.below(e)
        return parts

    @deep
    def below(self, e: PrimExpr) -> tuple[PrimExpr, ...]:
        """Return the largest eligible expressions within the operands of ``e``."""
        return tuple([x for c in parts_of(e, PrimExpr) for x in self.largest(c)])


_OPAQUE = (expr.Call, BufferLoad, expr.ProducerLoad, expr.Reduce, expr.Let)


_COMMUTATIVE = (expr.Add, expr.Mul, expr.Min, expr.Max, expr.And, expr.Or)


def _unordered(e: expr.BinaryOp, number: Callable[[PrimExpr], int]) -> tuple[object, ...]:
    """Return a key that does not depend on the order, or on the brackets, of a commutative operation."""
    kind = type(e)
    terms: list[int] = []
    todo: list[PrimExpr] = [e.b, e.a]
    while todo:
        part = todo.pop()
        if type(part) is kind:
            todo.extend((part.b, part.a))
        else:
            terms.append(number(part))
    return (kind, e.dtype, *sorted(terms))


def prefix_text(e: PrimExpr) -> str:
    """Return a plain text of an expression, by which variables of equal size are put in order."""
    if isinstance(e, Var):
        return e.name
    if isinstance(e, (expr.IntImm, expr.FloatImm, expr.StringImm)):
        return str(e.value)
    return _operation_text(e)


@deep
def _operation_text(e: PrimExpr) -> str:
    parts = [prefix_text(x) for x in parts_of(e, PrimExpr)]
    if isinstance(e, expr.BinaryOp):
        symbol = e.symbol
        if symbol == "*" or symbol == "/":
            return f"({parts[0]}{symbol}{parts[1]})"
        if not symbol[0].isalpha() and symbol not in ("//", "%"):
            return f"({parts[0]} {symbol} {parts[1]})"
        name = {"//": "floordiv", "%": "floormod"}.get(symbol, symbol)
        return f"{name}({', '.join(parts)})"
    return f"{_PREFIX.get(type(e).__name__, type(e).__name__.lower())}({', '.join(parts)})"


_PREFIX = {"Cast": "cast", "Not": "!"}
