"""EliminateCommonSubexpr: what is computed twice is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.ir.transform import register_named_pass
from compiler.relay.expr import Call, Constant, Tuple, TupleGetItem
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import GraphMutator, mutator_pass, relay_op

_SMALL = 64


def EliminateCommonSubexpr(fskip: Callable[[Any], bool] | None = None) -> FunctionPass:
    """Keeps one of several calls of the same operator on the same operands.

    For example::

        %0 = nn.relu(%x);
        %1 = nn.relu(%x);
        add(%0, %1)             ->        add(%0, %0)

    Parameters
    ----------
    fskip : callable, optional
        From a call to whether it must be kept as it is.
    """
    return mutator_pass(lambda: _Eliminator(fskip), 3, "EliminateCommonSubexpr", "InferType")


class _Eliminator(GraphMutator):
    def __init__(self, fskip: Callable[[Any], bool] | None) -> None:
        super().__init__()
        self._first: dict[Any, Any] = {}
        self._fskip = fskip

    def visit_call(self, call: Call) -> Any:
        new = super().visit_call(call)
        op = relay_op(new)
        if op is None or op.stateful or (self._fskip is not None and self._fskip(new)):
            return new
        return self._first.setdefault((op, new.args, new.attrs), new)

    def visit_tuple(self, tup: Tuple) -> Any:
        new = super().visit_tuple(tup)
        return self._first.setdefault((Tuple, new.fields), new)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Any:
        new = super().visit_tuple_getitem(op)
        return self._first.setdefault((new.tuple_value, new.index), new) if isinstance(new, TupleGetItem) else new

    def visit_constant(self, const: Constant) -> Any:
        value = const.value
        if value.size > _SMALL:
            return const
        return self._first.setdefault((str(const.data.dtype), value.shape, value.tobytes()), const)


register_named_pass("EliminateCommonSubexpr", EliminateCommonSubexpr)
