"""Lowers intrinsics to what the target provides."""

from __future__ import annotations

from collections.abc import Callable

from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.coercion import power_of_two
from compiler.ir.expr.primexpr import PrimExpr, cast
from compiler.ir.node import rebuild
from compiler.ir.op import Op
from compiler.tir.analysis.features import features
from compiler.tir.expressions.arithmetic import bitwise_and, shift_right
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import THREAD_KEYS, AttrStmt, For, IfThenElse, Stmt
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.calls.device_targets import function_target
from compiler.tir.transform.pass_base import FunctionRewrite

_RULE = "FLowerIntrinsic"


class LowerIntrin(FunctionRewrite):
    """Replace calls by what ``tvm.ir.register_intrin_lowering`` says for the target, and division that rounds down.

    A rule for the kind of target comes before one for ``default``; what it returns is lowered as well.  Processors
    divide rounding towards zero, so that the result is corrected where the operands may be negative::

        C[i] = A[i] // 8        →     C[i] = T.shift_right(A[i], 3)
        D[i] = A[i] // n              D[i] = T.Select(…, T.truncdiv(A[i], n), T.truncdiv(A[i], n) - 1)

    Raises LoweringError if a function does not say which target it is for.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_Lower(str(function_target(func, "LowerIntrin").kind)).visit(func.body))


class ApplyIntrinRules(FunctionRewrite):
    """Replace calls by what ``tvm.ir.register_intrin_lowering`` says for a kind of target, and nothing else.

    For example, after ``register_intrin_lowering("tir.mylog", "llvm", f=lambda op: tvm.tir.log(op.args[0]))``::

        C[i] = T.mylog(A[i])     →     C[i] = T.log(A[i])

    Parameters
    ----------
    kind : str
        The kind of target, e.g. ``llvm``.
    """

    kind: str

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(_ApplyRules(self.kind).visit(func.body))


class _ApplyRules(StmtExprMutator):
    """Applies the rules that programs registered for operators."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def visit_Call(self, n: expr.Call) -> PrimExpr:
        new: expr.Call = self.visit_Node(n)
        if not isinstance(new.op, Op):
            return new
        rule = intrin_rule(new.op, self._kind)
        lowered = None if rule is None else rule(new)
        return new if lowered is None or lowered is new else self.visit(lowered)


def intrin_rule(op: Op, kind: str) -> Callable[[expr.Call], PrimExpr | None] | None:
    """Return what makes code of calls of an operator: a rule for the kind of target before one for ``default``."""
    for key in (f"{kind}.{_RULE}", f"default.{_RULE}"):
        rule: Callable[[expr.Call], PrimExpr | None] | None = op.get_attr(key)
        if rule is not None:
            return rule
    return None


def needs_intrin_rules(func: PrimFunc, kind: str) -> bool:
    """Return whether a function calls an operator that has a rule for a kind of target."""
    return any(name and intrin_rule(Op.get(name), kind) is not None for name in features(func).ops)


class _Lower(_ApplyRules):
    """Also replaces division that rounds down, with what loops and conditions tell about its operands."""

    def __init__(self, kind: str) -> None:
        _ApplyRules.__init__(self, kind)
        self._analyzer = Analyzer()

    def visit_For(self, n: For) -> Stmt:
        self._analyzer.bind(n.loop_var, expr.Range.from_min_extent(n.min, n.extent), override=True)
        return self.visit_Node(n)

    def visit_AttrStmt(self, n: AttrStmt) -> Stmt:
        if n.attr_key in THREAD_KEYS and isinstance(n.node, expr.IterVar):
            self._analyzer.bind(
                n.node.var, expr.Range.from_min_extent(expr.IntImm(n.value.dtype, 0), n.value), override=True
            )
        return self.visit_Node(n)

    def visit_IfThenElse(self, n: IfThenElse) -> Stmt:
        with self._analyzer.constraint(n.condition):
            then = self.visit(n.then_case)
        other = n.else_case
        if other is not None:
            with self._analyzer.constraint(expr.Not(n.condition)):
                other = self.visit(other)
        return rebuild(n, condition=self.visit(n.condition), then_case=then, else_case=other)

    def visit_Select(self, n: expr.Select) -> PrimExpr:
        with self._analyzer.constraint(n.condition):
            true = self.visit(n.true_value)
        with self._analyzer.constraint(expr.Not(n.condition)):
            false = self.visit(n.false_value)
        return rebuild(n, condition=self.visit(n.condition), true_value=true, false_value=false)

    def visit_FloorDiv(self, n: expr.FloorDiv) -> PrimExpr:
        a, b = self.visit(n.a), self.visit(n.b)
        shift = power_of_two(n.b)
        if shift is not None and not dt.is_uint(n.dtype):
            return shift_right(a, cast(n.dtype, shift))
        if self._rounds_alike(n):
            return expr.Div(a, b)
        quotient = expr.Div(a, b)
        return expr.Select(self._exact(n, expr.Mod(a, b), b), quotient, quotient - cast(n.dtype, 1))

    def visit_FloorMod(self, n: expr.FloorMod) -> PrimExpr:
        a, b = self.visit(n.a), self.visit(n.b)
        shift = power_of_two(n.b)
        if shift is not None and not dt.is_uint(n.dtype):
            return bitwise_and(a, cast(n.dtype, (1 << shift) - 1))
        if self._rounds_alike(n):
            return expr.Mod(a, b)
        rest = expr.Mod(a, b)
        return expr.Select(self._exact(n, rest, b), rest, rest + b)

    def _rounds_alike(self, n: expr.FloorDiv | expr.FloorMod) -> bool:
        """Return whether rounding down is rounding towards zero."""
        return dt.is_uint(n.dtype) or (self._not_negative(n.a) and self._not_negative(n.b))

    def _not_negative(self, e: PrimExpr) -> bool:
        return self._analyzer.can_prove(e >= cast(e.dtype, 0))

    def _exact(self, n: expr.FloorDiv | expr.FloorMod, rest: PrimExpr, b: PrimExpr) -> PrimExpr:
        """Return where the quotient is the same whichever way it is rounded."""
        zero = cast(n.dtype, 0)
        if self._not_negative(n.b):
            return rest >= zero
        positive = expr.And(b >= zero, rest >= zero)
        return expr.Or(positive, expr.And(b < zero, rest <= zero))
