"""Finds the places of a module that can be mutated, and rewrites it so that one number chooses the mutant."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.outside.mutations.rooms import Room

__all__ = ["KINDS", "Mutant", "chosen", "importing", "mutated"]

KINDS = {
    "raise": "an error is not raised",
    "check": "a check is not called",
    "part": "an operand of a condition is left out",
    "answer": "a function that returns bool always returns the same",
    "exit": "an early `return None` is left out",
    "boundary": "a comparison is shifted by one",
    "one": "`± 1` is left out",
}

_CHECKS = re.compile(r"_*(check|require|refuse|reject|forbid|deny|ensure|validate|assert)(_|$)")
_REFUSALS = re.compile(r"_*(refuse|reject)(_|$)")
_SYMBOLS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_SHIFTED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_NOT_REFUSALS = ("NotImplementedError", "AssertionError")
"""What is raised where nothing comes at all."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    number: int
    path: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  [{self.kind}] {self.text}"


def mutated(room: Room, first: int = 0) -> tuple[list[Mutant], dict[str, str]]:
    """Return all mutants of a room, numbered from ``first``, and the rewritten modules by path."""
    mutants: list[Mutant] = []
    sources: dict[str, str] = {}
    for file in room.files():
        path = str(file.relative_to(room.root))
        rewriter = _Rewriter(path, room.is_bound(file), first + len(mutants))
        text = rewriter.rewritten(file.read_text())
        if rewriter.mutants:
            mutants += rewriter.mutants
            sources[path] = text
    return mutants, sources


def importing(tree: ast.Module) -> str:
    """Return a module that first imports what its mutants call."""
    at = next((i for i, s in enumerate(tree.body) if not _comes_first(s)), len(tree.body))
    tree.body.insert(at, ast.Import([ast.alias("strata_mutants", "__mutants__")]))
    return ast.unparse(ast.fix_missing_locations(tree))


class _Rewriter(ast.NodeTransformer):
    def __init__(self, path: str, bounds: bool, first: int) -> None:
        self.mutants: list[Mutant] = []
        self._path, self._bounds, self._first = path, bounds, first
        self._functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
        self._deciding = False  # inside a condition on which a refusal or an answer hangs

    def rewritten(self, text: str) -> str:
        return importing(self.visit(ast.parse(text)))

    def _new(self, node: ast.expr | ast.stmt, kind: str, text: str) -> ast.Constant:
        number = self._first + len(self.mutants)
        self.mutants.append(Mutant(number, self._path, node.lineno, kind, text))
        return ast.Constant(number)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._functions.append(node)
        node.body = [self.visit(statement) for statement in node.body]
        self._functions.pop()
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        self._functions.append(node)
        node.body = [self.visit(statement) for statement in node.body]
        self._functions.pop()
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if not self._functions or node.exc is None or _name(node.exc) in _NOT_REFUSALS:
            return node
        return self._skippable(node, "raise")

    def _skippable(self, node: ast.stmt, kind: str) -> ast.If:
        number = self._new(node, kind, f"{_short(node)}  →  pass")
        self.generic_visit(node)
        return ast.If(_call("kept", number), [node], [])

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        name = _name(node.value) if isinstance(node.value, ast.Call) else ""
        if not self._functions or not _CHECKS.match(name):
            return self.generic_visit(node)
        if _REFUSALS.match(name):
            return self._skippable(node, "raise")
        number = self._new(node, "check", f"{_short(node)}  →  pass")
        self.generic_visit(node)
        handler = ast.ExceptHandler(
            ast.Name("BaseException", ast.Load()), None, [ast.Expr(_call("refused", number)), ast.Raise()]
        )
        skipped = ast.UnaryOp(ast.Not(), _call("on", number))
        return ast.If(skipped, [ast.Try([node], [handler], [], [])], [])

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self._condition(node.test) if self._functions and _refuses(node.body[-1]) else self.visit(node.test)
        node.body = [self.visit(statement) for statement in node.body]
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node

    def _condition(self, test: ast.expr) -> ast.expr:
        before, self._deciding = self._deciding, True
        result = self.visit(test)
        self._deciding = before
        assert isinstance(result, ast.expr)
        return result

    def visit_Return(self, node: ast.Return) -> ast.AST:
        function = self._functions[-1]
        returned = ast.unparse(function.returns) if function.returns is not None else ""
        value = node.value
        if isinstance(value, ast.Constant) and value.value is None and node not in _tail(function.body):
            return ast.If(_call("kept", self._new(node, "exit", "return None  →  pass")), [node], [])
        if isinstance(value, ast.Tuple) and returned.startswith("tuple[bool, "):
            value.elts[0] = self._condition(value.elts[0])
        if value is None or not re.fullmatch(r"bool|TypeGuard\[.*\]", returned):
            return self.generic_visit(node) if not isinstance(value, ast.Tuple) else node
        numbers = []
        for constant in (False, True):
            if isinstance(value, ast.Constant) and value.value is constant:
                numbers.append(ast.Constant(numbers[0].value if numbers else self._first + len(self.mutants)))
                continue
            numbers.append(self._new(node, "answer", f"{_short(node)}  →  return {constant}"))
        node.value = _call("answer", *numbers, self._condition(value))
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if not self._deciding:
            return self.generic_visit(node)
        neutral = isinstance(node.op, ast.And)
        word = "and" if neutral else "or"
        values = []
        for value in node.values:
            number = self._new(value, "part", f"{_short(value)}  →  {neutral} ({word} …)")
            values.append(_call("part", number, self.visit(value), ast.Constant(neutral)))
        return ast.BoolOp(node.op, values)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        inside = self._functions and (self._bounds or self._deciding)
        symbols = [_SYMBOLS.get(type(op)) for op in node.ops]
        if not inside or not all(symbols) or any(_has_effect(middle) for middle in node.comparators[:-1]):
            return self.generic_visit(node)
        operands = [node.left, *node.comparators]
        pairs = []
        for symbol, a, b in zip(symbols, operands, operands[1:], strict=False):
            assert symbol is not None
            text = f"{_short(a)} {symbol} {_short(b)}  →  {_SHIFTED[symbol]}"
            left = self.visit(a) if a is node.left else copy.deepcopy(a)
            right = self.visit(b) if b is operands[-1] else copy.deepcopy(b)
            pair = _call("compared", self._new(node, "boundary", text), ast.Constant(symbol), left, right)
            if len(symbols) > 1:
                left_out = self._new(node, "part", f"{_short(a)} {symbol} {_short(b)}  →  True (and …)")
                pair = _call("part", left_out, pair, ast.Constant(True))
            pairs.append(pair)
        return pairs[0] if len(pairs) == 1 else ast.BoolOp(ast.And(), pairs)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        """Checks that are a table's elements are left out one by one."""
        self.generic_visit(node)
        if self._functions and len(node.elts) > 1 and all(_name(e) == "Check" for e in node.elts):
            node.elts = [
                ast.Starred(_call("element", self._new(e, "check", f"(…, {_short(e)}, …)  →  (…)"), e), ast.Load())
                for e in node.elts
            ]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if self._functions and self._bounds and isinstance(node.op, ast.Add | ast.Sub):
            for side in ("left", "right") if isinstance(node.op, ast.Add) else ("right",):
                value = getattr(node, side)
                if isinstance(value, ast.Constant) and value.value == 1 and type(value.value) is int:
                    other = node.right if side == "left" else node.left
                    number = self._new(node, "one", f"{_short(node)}  →  {_short(other)}")
                    setattr(node, side, _call("one", number, value))
        return self.generic_visit(node)


def _comes_first(statement: ast.stmt) -> bool:
    """Return whether nothing may stand before a statement: a docstring, or what changes the syntax."""
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _tail(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements after which a function ends anyway."""
    last = body[-1]
    yield last
    if isinstance(last, ast.If):
        for branch in filter(None, (last.body, last.orelse)):
            yield from _tail(branch)
    elif isinstance(last, ast.With | ast.AsyncWith):
        yield from _tail(last.body)
    elif isinstance(last, ast.Match):
        for case in last.cases:
            yield from _tail(case.body)
    elif isinstance(last, ast.Try):
        for branch in (last.orelse or last.body, *(handler.body for handler in last.handlers)):
            yield from _tail(branch)


def _name(e: ast.expr) -> str:
    """Return the last part of the name of what is called or raised."""
    if isinstance(e, ast.Call):
        return _name(e.func)
    return e.attr if isinstance(e, ast.Attribute) else e.id if isinstance(e, ast.Name) else ""


def _refuses(statement: ast.stmt) -> bool:
    """Return whether a statement raises, or returns the same whatever was asked."""
    if isinstance(statement, ast.Return):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return bool(_REFUSALS.match(_name(statement.value)))
    return isinstance(statement, ast.Raise)


def _has_effect(e: ast.expr) -> bool:
    return any(isinstance(n, ast.Call | ast.NamedExpr | ast.Await | ast.Yield) for n in ast.walk(e))


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name("__mutants__", ast.Load()), name, ast.Load()), list(args), [])


def _short(node: ast.AST, most: int = 90) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def chosen(mutants: Sequence[Mutant], only: Sequence[str], kinds: Sequence[str]) -> Iterator[Mutant]:
    """Yield those in one of some places, ``file`` or ``file:line``, that are of one of some kinds."""
    for mutant in mutants:
        places = (mutant.path, f"{mutant.path}:{mutant.line}")
        if (not only or any(place.endswith(o) for o in only for place in places)) and mutant.kind in kinds:
            yield mutant
