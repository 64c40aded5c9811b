"""Uses assumptions to compute layout padding without branches."""

from __future__ import annotations

from compiler.arith.analyzer import Analyzer
from compiler.classic.tir.transform.reduce_branching_through_overcompute import stays_inside
from compiler.ir.expr.primexpr import Call
from compiler.ir.node import rebuild
from compiler.tir.analysis.buffer_values import BufferValues
from compiler.tir.analysis.features import features
from compiler.tir.expressions.builtin import IF_THEN_ELSE, is_call
from compiler.tir.statements.buffer import BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Stmt
from compiler.tir.transform.loops.value_follower import StatementFollower
from compiler.tir.transform.pass_base import FunctionRewrite

_ELEMWISE, _BROADCAST = 0, 1


class UseAssumeToReduceBranches(FunctionRewrite):
    """Compute the padding of a result from the padding of the operands, which ``T.assume`` tells.

    Where the operator gives the padding anyway, the branch goes, and the loop can be vectorized::

        for i in range(16):                               for i in range(16):
            T.assume(i < 14 or A[i] == 0)                     T.assume(i < 14 or A[i] == 0)
        for i in range(16):                         →     for i in range(16):
            B[i] = T.if_then_else(i >= 14, 0, A[i] * 2)       B[i] = A[i] * 2

    Functions whose attribute ``op_pattern`` is elementwise or broadcast are rewritten, and in them the stores of
    ``T.if_then_else(padded, constant, value)``.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        pattern = func.attrs.get("op_pattern")
        if pattern is None or int(pattern) not in (_ELEMWISE, _BROADCAST):
            return func
        if not {"tir.assume", "tir.if_then_else"} <= features(func).ops:
            return func
        return func.with_body(_Overcompute(BufferValues(Analyzer())).visit(func.body))


class _Overcompute(StatementFollower):
    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        store = self._reduced(n)
        self.values.forget(store.value)
        self.values.store(store)
        return store

    def _reduced(self, store: BufferStore) -> BufferStore:
        """Return a store of the value alone, where it is what is stored as padding."""
        if not isinstance(store.value, Call) or not is_call(store.value, IF_THEN_ELSE):
            return store
        padded, padding, value = store.value.args
        computed = rebuild(store, value=value)
        analyzer = self.values.analyzer
        with analyzer.constraint(padded), self.values.scope(padded):
            same = analyzer.can_prove_equal(self.values.resolve(value), padding)
            return computed if same and stays_inside(computed, self.values.context) else store
