"""Common subexpression elimination."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir.expr.primexpr import Let, PrimExpr, Var
from compiler.ir.expr.substitute import free_vars
from compiler.ir.functor import Functor, leave, parts_of
from compiler.ir.module import IRModule
from compiler.ir.node import Node, rebuild
from compiler.ir.origin import Span, derived_from
from compiler.ir.transform import PassContext, register_config_option
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, IfThenElse, LetStmt, Stmt, While
from compiler.tir.statements.stmt_functor import StmtExprMutator, StmtMutator
from compiler.tir.transform.pass_base import PrimFuncPass
from compiler.tir.transform.value_numbering import ValueNumbering, prefix_text

register_config_option("tir.disable_cse_tir", (bool, int))
register_config_option("tir.enable_equiv_terms_in_cse_tir", (bool, int))


class CommonSubexprElimTIR(PrimFuncPass):
    """Compute expressions that occur several times only once, in variables ``cse_var_1``, ``cse_var_2``, ….

    Index arithmetic repeats itself, all the more after unrolling::

        C[m * 32] = C[m * 32] + A[k * 4]          cse_var_1: T.int32 = m * 32
                                             →    C[cse_var_1] = C[cse_var_1] + A[k * 4]

    For every region that always runs as a whole (a function, the body of a loop, a branch) the pass counts the
    largest expressions without loads and calls.  Going from large to small, one that occurs at least twice becomes a
    variable in front of the region; one that occurs once is taken apart, and its operands are counted instead.  What
    happens only on one side of a branch, or only inside of a loop, does not count outside of it: nothing is computed
    that was not computed before.

    Parameters
    ----------
    enable_cse_tir : bool
        The option ``tir.disable_cse_tir`` switches the pass off as well.
    identify_equiv_terms : bool
        Also take for the same what is equal by the laws of arithmetic: ``x + y`` and ``y + x``, ``x * (y + z)`` and
        ``x * y + x * z``.
    """

    enable_cse_tir: bool = True
    identify_equiv_terms: bool = False

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if not self.enable_cse_tir or ctx.config.get("tir.disable_cse_tir"):
            return func
        equivalent = self.identify_equiv_terms or bool(ctx.config.get("tir.enable_equiv_terms_in_cse_tir"))
        visible = [*func.params, *_vars_of_buffers(func)]
        return func.with_body(_Eliminator(ValueNumbering(equivalent), visible).region(func.body))


def _vars_of_buffers(func: PrimFunc) -> list[Var]:
    """Return the variables that the parameters' buffers bring with them: symbolic shapes and strides."""
    return [v for b in func.buffer_map.values() for v in free_vars((*b.shape, *b.strides, b.elem_offset))]


@dataclass(slots=True, eq=False)
class _Entry:
    """An expression with how often it occurs and where it came from."""

    expr: PrimExpr
    count: int
    span: Span


_Table = dict[int, _Entry]
_Chosen = dict[int, tuple[Var, PrimExpr]]
"""What becomes a variable, by its number in :class:`ValueNumbering`: large expressions come first."""


class _Counter(Functor):
    """Builds the table of what a statement computes whenever it runs; tables are fresh and may be changed."""

    def __init__(self, numbering: ValueNumbering) -> None:
        self._numbering = numbering

    def add(self, table: _Table, e: PrimExpr, count: int, span: Span) -> None:
        number = self._numbering.facts(e).number
        entry = table.get(number)
        if entry is None:
            table[number] = _Entry(e, count, span)
        else:
            entry.count += count
            facts = self._numbering.facts
            if self._numbering.equivalent and facts(e).size > facts(entry.expr).size:
                entry.expr = e  # as TVM writes the variable, whose value they all are
            if span is not entry.span:
                entry.span |= span

    def of_expr(self, e: PrimExpr, table: _Table) -> None:
        for x in self._numbering.largest(e):
            self.add(table, x, 1, x.span)

    def visit_PrimExpr(self, n: PrimExpr, table: _Table) -> None:
        self.of_expr(n, table)

    def visit_Node(self, n: Node, table: _Table) -> None:
        for part in parts_of(n, Node):
            self.visit(part, table)

    def visit_LetStmt(self, n: LetStmt, table: _Table) -> None:
        self.of_expr(n.value, table)
        body: _Table = {}
        self.visit(n.body, body)
        self._merge(table, self._without(body, n.var))

    def visit_For(self, n: For, table: _Table) -> None:
        parts: list[_Table] = [{}, {}, {}]
        self.of_expr(n.min, parts[0])
        self.of_expr(n.extent, parts[1])
        if parts[0] or parts[1]:
            self.visit(n.body, parts[2])
            parts[2] = self._without(parts[2], n.loop_var)
            self._merge(table, _shared(parts))

    def visit_IfThenElse(self, n: IfThenElse, table: _Table) -> None:
        parts: list[_Table] = [{}, {}, {}]
        self.of_expr(n.condition, parts[0])
        self.visit(n.then_case, parts[1])
        if n.else_case is not None:
            self.visit(n.else_case, parts[2])
        self._merge(table, _shared(parts))

    def visit_While(self, n: While, table: _Table) -> None:
        parts: list[_Table] = [{}, {}]
        self.of_expr(n.condition, parts[0])
        self.visit(n.body, parts[1])
        self._merge(table, _shared(parts))

    def _merge(self, table: _Table, more: _Table) -> None:
        for entry in more.values():
            self.add(table, entry.expr, entry.count, entry.span)

    def _without(self, table: _Table, var: Var) -> _Table:
        """Take apart what uses ``var``, down to what does not."""
        rest: _Table = {}
        bit = self._numbering.bit(var)
        todo = [(x.expr, x.count, x.span) for x in table.values()]
        while todo:
            e, count, span = todo.pop()
            if not self._numbering.facts(e).vars & bit:
                self.add(rest, e, count, span)
            else:
                todo.extend((x, count, x.span) for x in self._numbering.below(e))
        return rest


def _shared(parts: list[_Table]) -> _Table:
    """Return what at least two of the parts compute."""
    together: _Table = {}
    for i, part in enumerate(parts):
        for number, entry in part.items():
            for other in parts[i + 1 :]:
                if number in other and number not in together:
                    twin = other[number]
                    together[number] = _Entry(entry.expr, entry.count + twin.count, entry.span | twin.span)
    return together


class _Eliminator(StmtMutator):
    """Goes through the regions from the outside in."""

    def __init__(self, numbering: ValueNumbering, visible: list[Var]) -> None:
        self._numbering = numbering
        self._counter = _Counter(numbering)
        self._visible = 0
        self._made = 0
        self._define(*visible)

    def _define(self, *variables: Var) -> None:
        for var in variables:
            self._visible |= self._numbering.bit(var)

    def region(self, stmt: Stmt) -> Stmt:
        """Eliminate within a statement that always runs as a whole, then within its parts."""
        table: _Table = {}
        self._counter.visit(stmt, table)
        chosen = self._choose(table)
        if not chosen:
            return self.visit(stmt)
        replace = _Replacement(self._numbering, chosen)
        result = replace.visit(stmt)
        self._define(*[var for var, _ in chosen.values()])
        result = self.visit(result)
        for var, value in self._definitions(chosen):
            with derived_from(var.span):
                result = LetStmt(var, value, result)
        return result

    def expression(self, e: PrimExpr) -> PrimExpr:
        """Eliminate within an expression that is evaluated as a whole, and apart from others."""
        table: _Table = {}
        self._counter.of_expr(e, table)
        chosen = self._choose(table)
        if not chosen:
            return e
        replace = _Replacement(self._numbering, chosen)
        result: PrimExpr = replace.visit(e)
        for var, value in self._definitions(chosen):
            with derived_from(var.span):
                result = Let(var, value, result)
        return result

    def _definitions(self, chosen: _Chosen) -> list[tuple[Var, PrimExpr]]:
        """Return the variables from the innermost definition out, each by those that are defined outside of it.

        A small expression may have one in it that is equal, by the laws of arithmetic, to a large one.
        """
        replace = _Replacement(self._numbering, {})
        definitions = []
        for number, (var, value) in reversed(chosen.items()):
            with derived_from(var.span):
                definitions.append((var, replace.below(value)))
            replace.add(number, var, value)
        return definitions[::-1]

    def _choose(self, table: _Table) -> _Chosen:
        """Decide what becomes a variable: from large to small, what occurs twice; the rest is taken apart."""
        chosen: _Chosen = {}
        sizes: dict[int, _Table] = {}
        order = sorted(table.items(), key=lambda item: prefix_text(item[1].expr)) if len(table) > 1 else table.items()
        for number, entry in order:
            sizes.setdefault(self._numbering.facts(entry.expr).size, {})[number] = entry
        while sizes:
            for number, entry in sizes.pop(max(sizes)).items():
                if entry.count > 1:
                    if not self._is_visible(entry.expr):
                        continue
                    self._made += 1
                    with derived_from(entry.span):
                        chosen[number] = (Var(f"cse_var_{self._made}", entry.expr.dtype), entry.expr)
                for x in self._numbering.below(entry.expr):
                    self._counter.add(sizes.setdefault(self._numbering.facts(x).size, {}), x, 1, x.span)
        return chosen

    def _is_visible(self, e: PrimExpr) -> bool:
        return not self._numbering.facts(e).vars & ~self._visible

    def visit_LetStmt(self, n: LetStmt) -> Stmt:
        self._define(n.var)
        body = self.region(n.body)
        return rebuild(n, body=body)

    def visit_For(self, n: For) -> Stmt:
        low, extent = self.expression(n.min), self.expression(n.extent)
        self._define(n.loop_var)
        body = self.region(n.body)
        return rebuild(n, min=low, extent=extent, body=body)

    def visit_IfThenElse(self, n: IfThenElse) -> Stmt:
        condition = self.expression(n.condition)
        then = self.region(n.then_case)
        other = None if n.else_case is None else self.region(n.else_case)
        return rebuild(n, condition=condition, then_case=then, else_case=other)

    def visit_While(self, n: While) -> Stmt:
        condition, body = self.expression(n.condition), self.region(n.body)
        return rebuild(n, condition=condition, body=body)


class _Replacement(StmtExprMutator):
    """Puts variables where their values stand."""

    def __init__(self, numbering: ValueNumbering, chosen: _Chosen) -> None:
        self._numbering = numbering
        self._chosen: _Chosen = {}
        self._vars = 0
        for number, (var, value) in chosen.items():
            self.add(number, var, value)

    def add(self, number: int, var: Var, value: PrimExpr) -> None:
        """Put one more variable where its value stands."""
        self._chosen[number] = var, value
        self._vars |= self._numbering.facts(value).vars or -1  # a constant may stand anywhere

    def below(self, e: PrimExpr) -> PrimExpr:
        return self.visit_Node(e)

    visit_Var = visit_IntImm = leave

    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr:
        facts = self._numbering.facts(n)
        if facts.vars and not facts.vars & self._vars:
            return n
        replacement = self._chosen.get(facts.number)
        return self.visit_Node(n) if replacement is None else replacement[0]
