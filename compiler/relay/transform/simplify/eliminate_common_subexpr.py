"""EliminateCommonSubexpr: merges equal computations."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, Constant, Tuple, TupleGetItem
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, relay_op

_SMALL = 64


class EliminateCommonSubexpr(RewritePass, opt_level=3, required=("InferType",)):
    """Merge calls of the same operator on the same operands into one.

    Level 3; requires InferType.  ``fskip`` says of a call whether it must stay as it is.  After J. Cocke, "Global
    Common Subexpression Elimination", SIGPLAN Notices 5(7), 1970; here by hashing, operands first.

    Examples
    --------
    ``EliminateCommonSubexpr()``::

        def @main(%x: Tensor[(3), float32]) { add(nn.relu(%x), nn.relu(%x)) }
        ->
        def @main(%x: Tensor[(3), float32]) {
          %0 = nn.relu(%x);
          add(%0, %0)
        }
    """

    fskip: Callable[[Call], bool] | None = None

    def mutator(self) -> GraphMutator:
        return _Eliminator(self.fskip)


class _Eliminator(GraphMutator):
    def __init__(self, fskip: Callable[[Call], bool] | None) -> None:
        super().__init__()
        self._first: dict[Hashable, RelayExpr] = {}
        self._fskip = fskip

    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        op = relay_op(new)
        if op is None or op.stateful or (self._fskip is not None and self._fskip(new)):
            return new
        return self._first.setdefault((op, new.args, new.attrs), new)

    def visit_tuple(self, tup: Tuple) -> RelayExpr:
        new = super().visit_tuple(tup)
        return self._first.setdefault((Tuple, new.fields), new) if isinstance(new, Tuple) else new

    def visit_tuple_getitem(self, op: TupleGetItem) -> RelayExpr:
        new = super().visit_tuple_getitem(op)
        return self._first.setdefault((new.tuple_value, new.index), new) if isinstance(new, TupleGetItem) else new

    def visit_constant(self, const: Constant) -> RelayExpr:
        value = const.value
        if value.size > _SMALL:
            return const
        return self._first.setdefault((str(const.data.dtype), value.shape, value.tobytes()), const)
