"""Placement: the block and the line of each expression in the text.

A graph shares expressions, a text has blocks: an expression with a line of its own is written in the innermost block
that contains all of its uses, before the first of them.  Its number is given when its first user is reached, to the
operands of a user together: of ``add(exp(%x), tanh(add(%x, %y)))``, the inner ``add`` is ``%0`` and ``exp`` ``%1``.
Nothing here recurses, as graphs are deep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from compiler.ir.expr import RelayExpr
from compiler.ir.function import GlobalVar
from compiler.ir.op import Op
from compiler.relay.adt import Constructor, Match
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Var
from compiler.relay.expr_functor import bound_in_pattern
from compiler.relay.function import Function

ATOMS = (Var, Constant, GlobalVar, Op, Constructor)
"""Expressions that are written where they are used."""


class LetLine(NamedTuple):
    """The line of a ``let``; its body comes later."""

    let: Let


class _Binder(NamedTuple):
    """Where what an expression binds is named: before what is in it."""

    variables: tuple[Var, ...]


class _NumberedOperand(NamedTuple):
    """Where the condition of an ``if``, or what a match looks at, gets its number: before what is in the branches."""

    operand: GraphExpr


@dataclass(slots=True, eq=False)
class Block:
    """Lines between braces; the last one is ``result``.

    Before that are free variables, lines of ``let``, and expressions that get a number.
    """

    parent: Block | None
    result: GraphExpr
    depth: int = 0
    lines: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class _Use:
    """How an expression is used: in which block at least, how often, and whether only as what a block is."""

    block: Block
    count: int = 1
    inline: bool = False


class Plan:
    """The blocks of an expression."""

    def __init__(self, expr: GraphExpr, first: int = 0) -> None:
        self.root = Block(None, expr)
        # by the node (of a match: by the clause) and ``0`` or ``1`` for the branches of an ``if``
        self.blocks: dict[object, Block] = {}
        self.numbers: dict[GraphExpr, int] = {}  # of the expressions that are called ``%0``, ``%1``, …
        # in the order in which they are named: those of ``%6(%5)`` begin with the parameters of ``%6``
        self.variables: list[Var] = []
        self.constants: list[Constant] = []  # in the order in which those that are too large for a line are numbered
        self._first = first
        self._uses: dict[GraphExpr, _Use] = {}
        order: Sequence[Any] = post_order(expr, _parts)
        self._declared = {v for part in order if isinstance(part, _Binder) for v in part.variables}
        self._use(expr, self.root, inline=True)
        for part in reversed(order):
            self._place(part)
        for part in order:
            self._write(part)
        if isinstance(expr, Var):
            self._number(expr)

    @property
    def next_number(self) -> int:
        """The first number that is still free."""
        return self._first + len(self.numbers)

    def chain(self, result: GraphExpr) -> GraphExpr:
        """Return what a block is after the ``let`` lines of its own."""
        while isinstance(result, Let) and result not in self.numbers:
            result = result.body
        return result

    def _use(self, part: GraphExpr, block: Block, inline: bool = False) -> None:
        use = self._uses.get(part)
        if use is None:
            self._uses[part] = _Use(block, inline=inline)
        else:
            use.count += 1
            use.block = _common(use.block, block)

    def _place(self, part: GraphExpr) -> None:
        """Place an expression whose users are placed, and record the uses of its operands."""
        if isinstance(part, (LetLine, _Binder, _NumberedOperand, *ATOMS)):
            return
        use = self._uses[part]
        inner = use.block
        match part:
            case Function():
                self._use(part.body, self._block(part, inner, part.body), inline=True)
            case If():
                self._use(part.cond, inner)
                for index, branch in enumerate((part.true_branch, part.false_branch)):
                    self._use(branch, self._block((part, index), inner, branch), inline=True)
            case Match():
                self._use(part.data, inner)
                for clause in part.clauses:
                    self._use(clause.rhs, self._block(clause, inner, clause.rhs), inline=True)
            case Let():
                block = inner if self._inline(part) else self._block(part, inner, part.body)
                self.blocks[LetLine(part)] = block
                self._use(part.value, block, inline=not isinstance(part.value, Let))
                self._use(part.body, block, inline=True)
            case _:
                for operand in operands(part):
                    self._use(operand, inner)

    def _block(self, key: object, parent: Block, result: RelayExpr) -> Block:
        block = self.blocks[key] = Block(parent, result, parent.depth + 1)
        return block

    def _inline(self, part: GraphExpr) -> bool:
        use = self._uses[part]
        return use.inline and use.count == 1

    def _write(self, part: Any) -> None:
        """Append the lines that a part needs before its own; parts come in the order of evaluation."""
        if isinstance(part, LetLine):
            self._number(part.let.value)
            self.blocks[part].lines.append(part)
        elif isinstance(part, _Binder):
            self.variables.extend(part.variables)
        elif isinstance(part, _NumberedOperand):
            self._number(part.operand)
        elif isinstance(part, Constant):
            self.constants.append(part)
        elif isinstance(part, Var):
            if part not in self._declared:
                self.variables.append(part)
        else:
            for operand in (*part.args, part.op) if isinstance(part, Call) else operands(part):
                self._number(operand)

    def _number(self, part: GraphExpr) -> None:
        """Append the line of an operand, which gets the next number, unless it has one or needs none."""
        if isinstance(part, Var) and part not in self._declared:
            self._declared.add(part)
            self._uses[part].block.lines.append(part)
        elif not isinstance(part, ATOMS) and part not in self.numbers and not self._inline(part):
            self.numbers[part] = self.next_number
            self._uses[part].block.lines.append(part)


def _common(a: Block, b: Block) -> Block:
    """Return the innermost block that contains both."""
    while a is not b:
        if a.depth < b.depth:
            a, b = b, a
        assert a.parent is not None
        a = a.parent
    return a


def _parts(expr: GraphExpr) -> tuple[Any, ...]:
    """Return what an expression is made of, in the order in which its parts' own operands are numbered."""
    match expr:
        case Call():
            return (expr.op, *expr.args)
        case Function():
            return (_Binder(expr.params), *operands(expr))
        case Let():
            return (_Binder((expr.var,)), expr.value, LetLine(expr), expr.body)
        case If():
            return (expr.cond, _NumberedOperand(expr.cond), expr.true_branch, expr.false_branch)
        case Match():
            cases = [p for c in expr.clauses for p in (_Binder(tuple(bound_in_pattern(c.lhs))), c.rhs)]
            return (expr.data, _NumberedOperand(expr.data), *cases)
        case _:
            return operands(expr)
