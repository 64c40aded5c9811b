"""Simplifies arithmetic with the facts known from loops and branches."""

from __future__ import annotations

from compiler.arith.analyzer import Analyzer
from compiler.arith.and_of_ors import and_of_ors
from compiler.arith.branch_constraints import simplify_branches
from compiler.arith.extension import BOOLEAN_EXTENSIONS, Extension
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import And, FloatImm, IntImm, IterVar, Not, Or, PrimExpr, Range, StringImm, Var, const
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import leave
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.structural import structural_equal
from compiler.ir.transform import PassContext
from compiler.tir.analysis.buffer_values import BufferValues
from compiler.tir.analysis.side_effect import has_effect, is_pure, reads_memory
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import THREAD_KEYS, Stmt, no_op, seq
from compiler.tir.transform.loops.value_follower import StatementWalk, ValueFollower, without_likely
from compiler.tir.transform.pass_base import PrimFuncPass


class Simplify(PrimFuncPass, configurable=True):
    """Simplify arithmetic with what loops and branches tell about variables.

    The walk tells the arithmetic analyser what holds where it is: the range of each loop variable, the value of each
    let, the condition of each branch (and its opposite in the other one)::

        for n_c in range(32):                        for n_c in range(32):
            C[n_c // 32 * 64 + n_c % 32] = 0.0   →       C[n_c] = 0.0

    A branch whose condition is decided thereby disappears, and so does a store of an element to itself.

    ``PassContext(config={"tir.Simplify": {"transitively_prove_inequalities": True}})`` sets the options for a whole
    build.

    Parameters
    ----------
    transitively_prove_inequalities : bool
        Whether comparisons are proved from several assumed ones: ``i < k`` from ``i < j`` and ``j < k``.
    convert_boolean_to_and_of_ors : bool
        Whether conditions become conjunctions of disjunctions, as far as these are no more than
        ``and_of_ors.MAX_CLAUSES``.
    apply_constraints_to_boolean_branches : bool
        Whether one side of ``and`` is simplified as the other one holds, of ``or`` as the other one does not.
    propagate_knowns_to_prove_conditional : bool
        Whether the conditions of branches are decided by what stores and ``T.assume`` say about buffers.
    propagate_knowns_to_simplify_expressions : bool
        Whether loads of elements whose value is known thereby are replaced by it, in stored values.
    """

    transitively_prove_inequalities: bool = False
    convert_boolean_to_and_of_ors: bool = False
    apply_constraints_to_boolean_branches: bool = False
    propagate_knowns_to_prove_conditional: bool = False
    propagate_knowns_to_simplify_expressions: bool = False

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        options = self.configured(ctx)
        analyzer = Analyzer()
        # Conditions may read memory or have effects here, of which the analyser knows nothing: they are this walk's.
        analyzer.enabled_extensions = options.extensions & ~BOOLEAN_EXTENSIONS
        if options.propagate_knowns_to_prove_conditional or options.propagate_knowns_to_simplify_expressions:
            simplifier: _Simplifier = _DataFlowSimplifier(analyzer, options)
        else:
            simplifier = _Simplifier(analyzer, options)
        return func.with_body(simplifier.visit(func.body))

    @property
    def extensions(self) -> Extension:
        """What the analyser tries beyond its usual rules."""
        chosen = Extension.NoExtensions
        for option, extension in _EXTENSIONS.items():
            if getattr(self, option):
                chosen |= extension
        return chosen


_EXTENSIONS = {
    "transitively_prove_inequalities": Extension.TransitivelyProveInequalities,
    "convert_boolean_to_and_of_ors": Extension.ConvertBooleanToAndOfOrs,
    "apply_constraints_to_boolean_branches": Extension.ApplyConstraintsToBooleanBranches,
}


class _Simplifier(StatementWalk):
    def __init__(self, analyzer: Analyzer, options: Simplify) -> None:
        self._analyzer = analyzer
        self._extensions = options.extensions
        self._lets: dict[Var, PrimExpr] = {}

    def _decided(self, condition: PrimExpr) -> PrimExpr:
        """Return the condition of a branch, simplified: a constant where what is known decides it."""
        e = self.visit(condition)
        if isinstance(e, IntImm) or not self._lets:
            return e
        written_out = substitute(e, self._pure_value)
        decided = e if written_out is e else self._analyzer.simplify(written_out)
        return decided if isinstance(decided, IntImm) else e

    def _pure_value(self, var: Var) -> PrimExpr | None:
        value = self._lets.get(var)
        return None if value is None or not is_pure(value) else value

    def visit_PrimExpr(self, n: PrimExpr) -> PrimExpr:
        return self._analyzer.simplify(n)

    visit_Var = visit_PrimExpr

    def _condition(self, n: And | Or) -> PrimExpr:
        extensions = self._extensions
        e = self._analyzer.simplify(n)
        if Extension.ConvertBooleanToAndOfOrs in extensions and not has_effect(e):
            e = and_of_ors(e, self._analyzer.simplify)
        if Extension.ApplyConstraintsToBooleanBranches in extensions:
            e = simplify_branches(e, self._analyzer.simplify, self._analyzer.constraint, is_pure)
        return e

    visit_And = visit_Or = _condition

    visit_IntImm = leave

    def visit_For(self, n: tir.For) -> Stmt:
        low, extent = self.visit(n.min), self.visit(n.extent)
        self._analyzer.bind(n.loop_var, Range.from_min_extent(low, extent), override=True)
        body = self.visit(n.body)
        return rebuild(n, min=low, extent=extent, body=body)

    def visit_LetStmt(self, n: tir.LetStmt) -> Stmt:
        value = self.visit(n.value)
        if _may_inline(value):
            self._analyzer.bind(n.var, value, override=True)
            return self.visit(n.body)
        self._lets[n.var] = value
        self._analyzer.note_let(n.var, value)
        body = self.visit(n.body)
        return rebuild(n, value=value, body=body)

    def visit_AttrStmt(self, n: tir.AttrStmt) -> Stmt:
        value = self.visit(n.value)
        if n.attr_key in THREAD_KEYS and isinstance(n.node, IterVar):
            self._analyzer.bind(n.node.var, Range.from_min_extent(IntImm(value.dtype, 0), value), override=True)
        body = self.visit(n.body)
        return rebuild(n, value=value, body=body)

    def visit_IfThenElse(self, n: tir.IfThenElse) -> Stmt:
        condition = self._decided(n.condition)
        plain = without_likely(condition)
        if isinstance(plain, IntImm):
            taken = n.then_case if plain.value else n.else_case
            return no_op() if taken is None else self.visit(taken)
        with self._analyzer.constraint(plain):
            then = self.visit(n.then_case)
        other = n.else_case
        if other is not None:
            with self._analyzer.constraint(self._analyzer.simplify(Not(plain))):
                other = self.visit(other)
        return rebuild(n, condition=condition, then_case=then, else_case=other)

    def visit_SeqStmt(self, n: tir.SeqStmt) -> Stmt:
        statements = [self.visit(stmt) for stmt in n.seq]
        unchanged = all(new is old for new, old in zip(statements, n.seq, strict=True))
        return n if unchanged else seq(statements)

    def visit_AssertStmt(self, n: tir.AssertStmt) -> Stmt:
        condition = self.visit(n.condition)
        with self._analyzer.constraint(condition):
            body = self.visit(n.body)
        if isinstance(condition, IntImm) and condition.value:
            return body
        return rebuild(n, condition=condition, body=body)

    def visit_Evaluate(self, n: tir.Evaluate) -> Stmt:
        value = self.visit(n.value)
        return n if value is n.value else tir.Evaluate(value)

    def visit_BufferStore(self, n: tir.BufferStore) -> Stmt:
        value, indices = self.visit(n.value), self._visit_tuple(n.indices)
        if isinstance(value, BufferLoad) and value.buffer is n.buffer and structural_equal(value.indices, indices):
            return no_op()
        return rebuild(n, value=value, indices=indices, predicate=self._visit_optional(n.predicate))


class _DataFlowSimplifier(ValueFollower, _Simplifier):
    """Uses the values of elements that stores and assumptions tell, too."""

    def __init__(self, analyzer: Analyzer, options: Simplify) -> None:
        _Simplifier.__init__(self, analyzer, options)
        self.values = BufferValues(analyzer)
        self._options = options

    def _decided(self, condition: PrimExpr) -> PrimExpr:
        e = _Simplifier._decided(self, condition)
        if isinstance(e, IntImm) or not (self.values.knows_scalars or reads_memory(e)):
            return e
        truth = self.values.truth(without_likely(e))
        return e if truth is None else const(truth)

    def visit_BufferStore(self, n: tir.BufferStore) -> Stmt:
        self.values.forget(n.value)
        if self._options.propagate_knowns_to_simplify_expressions:
            n = rebuild(n, value=self.values.resolve(n.value))
        result = super().visit_BufferStore(n)
        if isinstance(result, tir.BufferStore):
            self.values.store(result)
        return result


def _may_inline(value: PrimExpr) -> bool:
    """Return whether a let is better written out: constants, names, and index arithmetic, which then simplifies."""
    if isinstance(value, (IntImm, FloatImm, StringImm, Var)):
        return True
    return dt.is_int(value.dtype) and dt.lanes(value.dtype) == 1 and is_pure(value)
