"""The pattern language of rewrite rules, and its compiler.

A rule is written the way one writes the mathematics::

    ("(x * c1 + y) // c2", "x * (c1 // c2) + y // c2", "c2 > 0 and c1 % c2 == 0")

pattern, replacement and, where the rule needs one, a condition.  Names that begin with ``c`` match integer constants
and stand for their values in conditions; ``lanes`` matches a number of lanes; any other name matches any expression,
the same one wherever it occurs again.  ``//`` and ``%`` round towards minus infinity, ``truncdiv`` and ``truncmod``
towards zero.  Operands of commutative operations match in either order, so a rule is written once; constants have
moved to the right by the time a rule sees them, except in minima and maxima.  Where the result depends on the order,
the rule is :func:`ordered`.

A condition is Python over the constants, with the questions of :data:`_QUESTIONS` about expressions, which the
simplifier answers.

The rules of one operation are looked up by the classes of its operands: for each pair of classes that occurs, the
rules that can match at all are compiled into one Python function.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from compiler.arith.deep_equal import deep_equal
from compiler.arith.overflow import EXACT, WRAPPING
from compiler.ir import dtype as dt
from compiler.ir.expr import primexpr as ir
from compiler.ir.expr.lanes import lane_count
from compiler.ir.expr.primexpr import PrimExpr


class OrderedRule(tuple[str, ...]):
    """A rule of which no operands are exchanged but those of the operation at the root."""

    __slots__ = ()


class FixedRule(tuple[str, ...]):
    """A rule of which no operands are exchanged."""

    __slots__ = ()


Rule = tuple[str, str] | tuple[str, str, str] | OrderedRule | FixedRule


def ordered(pattern: str, result: str, *condition: str) -> Rule:
    """Return a rule whose pattern matches operands in the order in which they are written, except at its root.

    Where the result depends on that order, as in ``min(x, y) - y`` → ``min(x - y, 0)``, there is a rule for each.
    """
    return OrderedRule((pattern, result, *condition))


def fixed(pattern: str, result: str, *condition: str) -> Rule:
    """Return a rule whose pattern matches operands in the order in which they are written."""
    return FixedRule((pattern, result, *condition))


Matcher = Callable[[object, object], PrimExpr | None]
"""``(expression, simplifier) -> replacement``, or None where no rule applies."""

_OPERATORS: dict[type[ast.AST], type[PrimExpr]] = {
    ast.Add: ir.Add, ast.Sub: ir.Sub, ast.Mult: ir.Mul, ast.FloorDiv: ir.FloorDiv, ast.Mod: ir.FloorMod,
    ast.Lt: ir.LT, ast.LtE: ir.LE, ast.Gt: ir.GT, ast.GtE: ir.GE, ast.Eq: ir.EQ, ast.NotEq: ir.NE, ast.And: ir.And,
    ast.Or: ir.Or, ast.Not: ir.Not,
}  # fmt: skip
_FUNCTIONS: dict[str, type[PrimExpr]] = {
    "min": ir.Min, "max": ir.Max, "truncdiv": ir.Div, "truncmod": ir.Mod, "select": ir.Select, "ramp": ir.Ramp,
    "broadcast": ir.Broadcast,
}  # fmt: skip
_FIELDS: dict[type[PrimExpr], tuple[str, ...]] = {
    ir.Select: ("condition", "true_value", "false_value"),
    ir.Ramp: ("base", "stride", "lanes"),
    ir.Broadcast: ("value", "lanes"),
    ir.Not: ("a",),
}
_COMMUTATIVE = (ir.Add, ir.Mul, ir.Min, ir.Max, ir.EQ, ir.NE, ir.And, ir.Or)
_EXTREMA = (ir.Min, ir.Max)
_QUESTIONS = {"low", "high", "divisible", "within_block", "is_reducible", "is_ordered", "prove", "equal", "varies"}
"""``low(x)`` and ``high(x)``, the bounds of ``x``; ``divisible(x, c)``; ``prove(x < y)``; ``equal(x, y)``;
``varies(x)``: whether ``x`` is no constant; ``is_reducible(x, c)``: whether ``x % c`` is one and ``x`` another one;
``is_ordered(x)``: whether values of the type of ``x`` can always be compared, as floats cannot;
``within_block(x, d, c)``: whether ``x`` and ``x + d`` have one quotient by ``c``.  ``c`` and ``d`` are constants."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """What an expression has to look like: an operation, a name, or an integer."""

    kind: type[PrimExpr] | None = None
    parts: tuple[Pattern, ...] = ()
    name: str = ""
    value: int | None = None

    @property
    def is_constant(self) -> bool:
        """Whether this matches nothing but integer constants."""
        return self.value is not None or self.name.startswith("c")

    def accepts(self, kind: type) -> bool:
        """Return whether an expression of that class may match."""
        if self.is_constant:
            return kind is ir.IntImm
        return self.kind is None or self.kind is kind


def parse_pattern(text: str) -> Pattern:
    """Read the left side of a rule."""
    return _pattern(ast.parse(text, mode="eval").body)


def _pattern(tree: ast.expr) -> Pattern:
    if isinstance(tree, ast.Name):
        return Pattern(name=tree.id)
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int):
        return Pattern(value=tree.value)
    kind, operands = _operation(tree)
    return Pattern(kind, tuple(_pattern(operand) for operand in operands))


def _operation(tree: ast.expr) -> tuple[type[PrimExpr], Sequence[ast.expr]]:
    if isinstance(tree, ast.BinOp):
        return _OPERATORS[type(tree.op)], (tree.left, tree.right)
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1:
        return _OPERATORS[type(tree.ops[0])], (tree.left, tree.comparators[0])
    if isinstance(tree, ast.BoolOp) and len(tree.values) == 2:
        return _OPERATORS[type(tree.op)], tree.values
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return ir.Not, (tree.operand,)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in _FUNCTIONS:
        return _FUNCTIONS[tree.func.id], tree.args
    raise ValueError(f"rule: {ast.unparse(tree)} is not an operation")


def _orders(p: Pattern, deeply: bool = True) -> Iterator[Pattern]:
    """Yield the pattern with the operands of commutative operations in every order, at its root only or ``deeply``.

    As it is written comes first.
    """
    if not p.parts:
        yield p
        return
    as_written = itertools.product(*map(_orders, p.parts)) if deeply else [p.parts]
    choices = dict.fromkeys(as_written)
    if p.kind in _EXTREMA or p.kind in _COMMUTATIVE:
        exchanged = [parts[::-1] for parts in choices if p.kind in _EXTREMA or not parts[1].is_constant]
        choices |= dict.fromkeys(exchanged)
    for parts in choices:
        yield Pattern(p.kind, parts)


def _patterns(rule: Rule) -> Iterator[Pattern]:
    """Yield what a rule matches."""
    pattern = parse_pattern(rule[0])
    return iter([pattern]) if isinstance(rule, FixedRule) else _orders(pattern, not isinstance(rule, OrderedRule))


class _Source:
    """Writes the test and the replacement of one rule as Python."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._types: list[str] = []
        self._equalities: list[str] = []
        self._count = 0

    def rule(self, pattern: Pattern, result: ast.expr, condition: ast.expr | None, checked: bool) -> str:
        """Write a rule; what it returns is ``checked`` if it may overflow where the pattern does not."""
        for part, field in zip(pattern.parts, _fields(pattern.kind), strict=True):
            self._match(part, field)
        tests = self._types + self._equalities
        if condition is not None:
            tests.append(f"({self._condition(condition)})")
        head = f"    if {' and '.join(tests) or 'True'}:\n"
        if not checked:
            return f"{head}        return {self._build(result)}\n"
        return f"{head}        r = {self._build(result)}\n        if s.stays_in_range(e, r):\n            return r\n"

    def _match(self, p: Pattern, place: str) -> None:
        if p.name == "lanes":
            place = f"lane_count({place})"
        if p.kind is not None:
            name = self._fresh()
            self._types.append(f"type({name} := {place}) is {p.kind.__name__}")
            for part, field in zip(p.parts, _fields(p.kind), strict=True):
                self._match(part, f"{name}.{field}")
        elif p.value is not None or p.name.startswith("c"):
            if place not in ("a", "b"):
                name = self._fresh()
                self._types.append(f"type({name} := {place}) is IntImm")
                place = name
            else:
                self._types.append(f"type({place}) is IntImm")
            if p.value is not None:
                self._types.append(f"{place}.value == {p.value}")
            elif p.name in self.names:
                self._types.append(f"{place}.value == {self.names[p.name]}.value")
            else:
                self.names[p.name] = place
        elif p.name in self.names:
            same = f"{place} == {self.names[p.name]}" if p.name == "lanes" else f"same({place}, {self.names[p.name]})"
            self._equalities.append(same)
        else:
            self.names[p.name] = place

    def _fresh(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _condition(self, tree: ast.expr) -> str:
        """Write a condition: constants stand for their values, questions go to the simplifier."""
        if isinstance(tree, ast.Name):
            return self.names[tree.id] + (".value" if tree.id.startswith("c") else "")
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in _QUESTIONS:
            if tree.func.id in ("divisible", "within_block", "is_reducible"):
                numbers = ", ".join(self._condition(arg) for arg in tree.args[1:])
                return f"s.{tree.func.id}({self._build(tree.args[0])}, {numbers})"
            return f"s.{tree.func.id}({', '.join(self._build(arg) for arg in tree.args)})"
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
            return f"{tree.func.id}({', '.join(self._condition(arg) for arg in tree.args)})"
        if isinstance(tree, ast.BoolOp):
            word = " and " if isinstance(tree.op, ast.And) else " or "
            return word.join(f"({self._condition(value)})" for value in tree.values)
        if isinstance(tree, ast.Compare):
            text = f"({self._condition(tree.left)})"
            for op, right in zip(tree.ops, tree.comparators, strict=True):
                text += f" {_SYMBOLS[type(op)]} ({self._condition(right)})"
            return text
        if isinstance(tree, ast.BinOp):
            return f"(({self._condition(tree.left)}) {_SYMBOLS[type(tree.op)]} ({self._condition(tree.right)}))"
        if isinstance(tree, ast.UnaryOp):
            word = "not" if isinstance(tree.op, ast.Not) else "-"
            return f"{word} ({self._condition(tree.operand)})"
        return ast.unparse(tree)

    def _build(self, tree: ast.expr) -> str:
        """Write the construction of an expression; arithmetic on constants happens on their values."""
        if isinstance(tree, ast.Name):
            return self.names[tree.id]
        if isinstance(tree, ast.Constant) and isinstance(tree.value, bool):
            return f"IntImm('bool', {int(tree.value)})"
        if _is_constant(tree):
            return f"const({self._condition(tree)}, {self._dtype_of(tree)})"
        kind, operands = _operation(tree)
        return f"{kind.__name__}({', '.join(self._build(operand) for operand in operands)})"

    def _dtype_of(self, tree: ast.expr) -> str:
        """Write the data type of a computed constant: that of the constants which it is made of."""
        for part in ast.walk(tree):
            if isinstance(part, ast.Name) and part.id in self.names:
                return f"{self.names[part.id]}.dtype"
        return "t"


_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def _is_constant(tree: ast.expr) -> bool:
    if isinstance(tree, ast.Name):
        return tree.id.startswith("c")
    if isinstance(tree, ast.Constant):
        return True
    if isinstance(tree, ast.BinOp):
        return _is_constant(tree.left) and _is_constant(tree.right)
    if isinstance(tree, ast.UnaryOp):
        return isinstance(tree.op, ast.USub) and _is_constant(tree.operand)
    return isinstance(tree, ast.Call) and all(_is_constant(arg) for arg in tree.args)


def _fields(kind: type[PrimExpr] | None) -> tuple[str, ...]:
    assert kind is not None
    return _FIELDS.get(kind, ("a", "b"))


_ENVIRONMENT: dict[str, object] = {
    **{kind.__name__: kind for kind in (*_OPERATORS.values(), *_FUNCTIONS.values(), ir.IntImm)},
    "const": ir.const,
    "element": dt.element,
    "lane_count": lane_count,
    "same": deep_equal,
    "truncdiv": ir.trunc_div,
    "truncmod": ir.trunc_mod,
}


class RuleSet:
    """The rules of one operation, compiled by the classes of its operands on first need."""

    def __init__(self, kind: type[PrimExpr], rules: Sequence[Rule]) -> None:
        self.kind = kind
        self.rules = tuple(rules)
        self._parsed: list[tuple[Pattern, Rule]] | None = None
        self._matchers: dict[tuple[type, ...], Matcher | None] = {}

    def matcher(self, *classes: type) -> Matcher | None:
        """Return the function that tries all rules that operands of these classes can match, None without any."""
        try:
            return self._matchers[classes]
        except KeyError:
            matcher = self._matchers[classes] = self._compile(classes)
            return matcher

    def _compile(self, classes: tuple[type, ...]) -> Matcher | None:
        if self._parsed is None:
            self._parsed = [(order, rule) for rule in self.rules for order in _patterns(rule)]
        body = "".join(
            _Source().rule(pattern, ast.parse(rule[1], mode="eval").body, _condition_of(rule), _moves_terms(rule))
            for pattern, rule in self._parsed
            if all(part.accepts(cls) for part, cls in zip(pattern.parts, classes, strict=True))
        )
        if not body:
            return None
        first = _fields(self.kind)
        head = "".join(f"    {field} = e.{field}\n" for field in first)
        source = f"def match(e, s):\n{head}    t = element({first[0]}.dtype)\n{body}    return None\n"
        scope: dict[str, Matcher] = {}
        exec(compile(source, f"<rules of {self.kind.__name__}>", "exec"), _ENVIRONMENT, scope)
        return scope["match"]


def _moves_terms(rule: Rule) -> bool:
    """Return whether a rule is about sums or products within comparisons, quotients, minima or maxima.

    Sums alone are the same in any order, even where they wrap around.
    """
    trees = [ast.parse(side, mode="eval").body for side in rule[:2]]
    kinds = {_operation(part)[0] for tree in trees for part in _operations(tree)}
    return any(issubclass(kind, WRAPPING) for kind in kinds) and any(issubclass(kind, EXACT) for kind in kinds)


def _operations(tree: ast.expr) -> Iterator[ast.expr]:
    """Yield the operations of a pattern or replacement, those on constants alone left out."""
    if isinstance(tree, (ast.Name, ast.Constant)) or _is_constant(tree):
        return
    yield tree
    for operand in _operation(tree)[1]:
        yield from _operations(operand)


def _condition_of(rule: Rule) -> ast.expr | None:
    return ast.parse(rule[2], mode="eval").body if len(rule) == 3 else None
