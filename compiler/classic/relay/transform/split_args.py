"""SplitArgs: splits concatenations so that no kernel exceeds the target's argument limit."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Call, Tuple
from compiler.relay.operator import call_op, op_name
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, type_of


class SplitArgs(RewritePass, opt_level=1, required=("InferType",)):
    """Make several concatenates of one of many tensors.

    Level 1; requires InferType.  Each joins the result of the one before it with further tensors, and is not fused with
    it.  A kernel may have ``max_function_args`` parameters, its result among them: 2 or more; none is split if that is
    0 or less.

    Examples
    --------
    ``SplitArgs(3)``::

        def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32], %z: Tensor[(2), float32]) {
          concatenate((%x, %y, %z), axis=0)
        }
        ->
        def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32], %z: Tensor[(2), float32]) {
          %0 = annotation.stop_fusion((%x, %y));
          %1 = concatenate(%0, axis=0);
          %2 = annotation.stop_fusion((%1, %z));
          concatenate(%2, axis=0)
        }
    """

    max_function_args: int

    def mutator(self) -> GraphMutator:
        """Return what splits the concatenates of one function.

        Raises ArgumentError if a function may have one argument alone: the result of the concatenate before is one
        already.
        """
        if self.max_function_args == 1:
            raise ArgumentError(
                "SplitArgs: max_function_args must be at least 2, since the result is a parameter, got 1"
            )
        return _Splitter(self.max_function_args - 1)


class _Splitter(GraphMutator):
    def __init__(self, max_inputs: int) -> None:
        super().__init__()
        self._max_inputs = max_inputs

    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        if op_name(new) != "concatenate" or not isinstance(new.args[0], Tuple):
            return new
        fields = new.args[0].fields
        if not 0 < self._max_inputs <= len(fields):
            return new
        return self._joined(new, fields)

    def _joined(self, call: Call, fields: Sequence[RelayExpr]) -> Call:
        """Return tensors joined in groups, each with the result of those before it."""
        joined = _join(call, fields[: self._max_inputs])
        further = max(self._max_inputs - 1, 1)
        for first in range(self._max_inputs, len(fields), further):
            joined = _join(call, [joined, *fields[first : first + further]])
        return joined


def _join(call: Call, fields: Sequence[RelayExpr]) -> Call:
    made = call_op("concatenate", call_op("annotation.stop_fusion", Tuple(tuple(fields))), **call.attrs)
    type_of(made)
    return made
