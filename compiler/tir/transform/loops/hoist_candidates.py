"""Which conditions and bindings can be hoisted out of loops, and how far."""

from __future__ import annotations

from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import Let, PrimExpr, Var
from compiler.ir.expr.substitute import free_vars, uses_var
from compiler.ir.functor import Visitor, parts_of
from compiler.ir.node import Node
from compiler.ir.structural import structural_equal
from compiler.tir.analysis.side_effect import is_pure
from compiler.tir.expressions.builtin import IF_THEN_ELSE
from compiler.tir.statements.stmt import (
    THREAD_KEYS,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
)

IF_ELSE_STMT, IF_ELSE_EXPR, BOOLEAN_EXPRESSION, USING_BLOCK_VAR = 1, 2, 4, 8
REQUIRED_BY_CONDITIONAL, LET_STMT, LET_EXPR = 1, 2, 4


class Loop:
    """A loop, or the launch of a thread axis, that is being walked."""

    __slots__ = ("bindings", "conditions", "inner", "launch", "sequential", "stmt", "var")

    def __init__(self, stmt: Stmt, var: Var, launch: bool) -> None:
        self.stmt = stmt
        self.var = var
        self.launch = launch  # whether it is the launch of a thread axis
        # whether its body does several things one after the other, so that nothing leaves it any more
        self.sequential = False
        self.inner: dict[Var, LetStmt | Let] = {}  # the bindings in its body, outside of the loops in that
        self.conditions: list[PrimExpr] = []
        self.bindings: list[tuple[Var, PrimExpr]] = []


class HoistCandidates(Visitor):
    """Walks a function body and notes what moves where."""

    def __init__(self, conditionals: int, bindings: int) -> None:
        self._conditionals = conditionals
        self._bindings = bindings
        self._enters_expressions = bool(conditionals & (IF_ELSE_EXPR | BOOLEAN_EXPRESSION) or bindings & LET_EXPR)
        self.loops: dict[Stmt, Loop] = {}
        self.moved_bindings: set[Node] = set()
        self._active: list[Loop] = []
        self._threads: set[Var] = set()

    @property
    def moving(self) -> bool:
        """Whether anything moves."""
        return bool(self.moved_bindings) or any(loop.conditions for loop in self.loops.values())

    # the walk

    def _expression(self, e: PrimExpr) -> None:
        if self._enters_expressions:
            self.visit(e)

    def visit_For(self, n: For) -> None:
        self._expression(n.min)
        self._expression(n.extent)
        self._within(Loop(n, n.loop_var, False), n.body)

    def visit_BufferStore(self, n: BufferStore) -> None:
        if self._enters_expressions:
            self.visit_Node(n)

    def visit_Evaluate(self, n: Evaluate) -> None:
        self._expression(n.value)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        self._expression(n.value)
        if n.attr_key in THREAD_KEYS and isinstance(n.node, expr.IterVar):
            self._threads.add(n.node.var)
            self._within(Loop(n, n.node.var, True), n.body)
        else:
            self.visit(n.body)

    def _within(self, loop: Loop, body: Stmt) -> None:
        self.loops[loop.stmt] = loop
        self._active.append(loop)
        self.visit(body)
        self._active.pop()

    def visit_SeqStmt(self, n: SeqStmt) -> None:
        if self._active:
            self._active[-1].sequential = True
        self.visit_Node(n)

    def visit_LetStmt(self, n: LetStmt) -> None:
        self._binding(n, LET_STMT)

    def visit_Let(self, n: Let) -> None:
        self._binding(n, LET_EXPR)

    def _binding(self, n: LetStmt | Let, flag: int) -> None:
        self._expression(n.value)
        if self._active:
            self._active[-1].inner[n.var] = n
            if self._bindings & flag:
                self._move_binding(n)
        self.visit(n.body)

    def visit_IfThenElse(self, n: IfThenElse) -> None:
        if self._conditionals & IF_ELSE_STMT:
            self._condition(n.condition)
        self._expression(n.condition)
        self.visit(n.then_case)
        if n.else_case is not None:
            self.visit(n.else_case)

    def visit_Call(self, n: expr.Call) -> None:
        if n.op is IF_THEN_ELSE and self._conditionals & IF_ELSE_EXPR:
            self._condition(n.args[0])
        self.visit_Node(n)

    def visit_Select(self, n: expr.Select) -> None:
        if self._conditionals & IF_ELSE_EXPR:
            self._condition(n.condition)
        self.visit_Node(n)

    def _operands(self, n: expr.And | expr.Or) -> None:
        if self._conditionals & BOOLEAN_EXPRESSION:
            self._condition(n.a)
            self._condition(n.b)
        self.visit_Node(n)

    visit_And = visit_Or = _operands

    # where things go

    def _condition(self, condition: PrimExpr) -> None:
        if isinstance(condition, expr.IntImm) or condition.dtype != "bool" or not may_move(condition):
            return
        if not self._conditionals & USING_BLOCK_VAR and uses_var(condition, self._threads.__contains__):
            return
        required = self._required(condition) if self._bindings & REQUIRED_BY_CONDITIONAL else []
        target = self._destination(condition, required)
        if target is None:
            return
        left = self._active[self._active.index(target) :]
        for binding in required:
            if any(loop.inner.get(binding.var) is binding for loop in left):  # others are in scope around the target
                self._note_binding(self._destination(binding.value, []) or target, binding)
        if not any(structural_equal(condition, other) for other in target.conditions):
            target.conditions.append(condition)

    def _required(self, e: PrimExpr) -> list[LetStmt | Let]:
        """Return the bindings within loops that an expression needs, outer ones first."""
        required: dict[Node, LetStmt | Let] = {}

        def need(used: PrimExpr) -> None:
            for var in free_vars(used):
                for loop in self._active:
                    binding = loop.inner.get(var)
                    if binding is not None and binding not in self.moved_bindings:
                        need(binding.value)
                        required[binding] = binding

        need(e)
        return list(required.values())

    def _destination(self, e: PrimExpr, required: list[LetStmt | Let]) -> Loop | None:
        """Return the outermost loop that an expression can leave, with the bindings that it needs."""
        own = {binding.var for binding in required}
        if not all(may_move(binding.value) for binding in required):
            return None
        used = set(free_vars(e)).union(*[free_vars(binding.value) for binding in required]) - own
        target: Loop | None = None
        for loop in reversed(self._active):
            bound = {var for var, binding in loop.inner.items() if binding not in self.moved_bindings}
            if loop.sequential or loop.var in used or used & bound:
                break
            if loop.launch and not self._conditionals & USING_BLOCK_VAR:
                break
            target = loop
            if used.intersection(var for var, _ in loop.bindings):
                break
        return target

    def _move_binding(self, n: LetStmt | Let) -> None:
        target = self._destination(n.value, []) if may_move(n.value) else None
        if target is not None:
            self._note_binding(target, n)

    def _note_binding(self, loop: Loop, n: LetStmt | Let) -> None:
        if n not in self.moved_bindings:
            self.moved_bindings.add(n)
            loop.bindings.append((n.var, n.value))


def may_move(e: PrimExpr) -> bool:
    """Return whether evaluating an expression earlier, or although it was not asked for, changes nothing."""
    return is_pure(e) and not _may_trap(e)


def _may_trap(e: Node) -> bool:
    if isinstance(e, (expr.Div, expr.Mod, expr.FloorDiv, expr.FloorMod)) and not (
        isinstance(e.b, expr.IntImm) and e.b.value
    ):
        return True
    return any(_may_trap(part) for part in parts_of(e, Node))
