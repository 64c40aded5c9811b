"""LazyGradientInit: avoids allocating gradients initialised to zeros or ones."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.analysis.traversal import post_order
from compiler.relay.expr import Call, Let, Var
from compiler.relay.function import Function
from compiler.relay.operator import call_op, op_name
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import GraphMutator, type_of

_ZEROS = frozenset(("zeros", "zeros_like"))
_ONES = frozenset(("ones", "ones_like"))


class LazyGradientInit(FunctionPass, opt_level=2):
    """Leave out tensors of zeros and ones that are only added or multiplied.

    Level 2.  A reverse derivative begins with zeros that it adds to, and with ones that it multiplies by: the sum of
    zeros and a value is the value, the product of ones and a value too, and the product of zeros and a value is zeros.
    What is left of such tensors is a result, or goes to another operator.

    Examples
    --------
    ``LazyGradientInit()``::

        def @main(%x: Tensor[(3), float32]) {
          let %g = zeros_like(%x);
          add(%g, multiply(ones_like(%x), %x))
        }
        ->
        def @main(%x: Tensor[(3), float32]) {
          let %g = zeros_like(%x);
          %x
        }
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        bound = {let.var: let.value for let in post_order(func) if isinstance(let, Let)}
        return _NeutralElementFolder(bound).rewrite_function(func)


class _NeutralElementFolder(GraphMutator):
    def __init__(self, bound: Mapping[Var, RelayExpr]) -> None:
        super().__init__()
        self._bound = bound

    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        name = op_name(new)
        if name not in ("add", "multiply") or len(new.args) != 2:
            return new
        for this, other in (new.args, reversed(new.args)):
            neutral = _ZEROS if name == "add" else _ONES
            if self._is_filled(this, neutral) and type_of(other) == call.checked_type:
                return other
            if name == "multiply" and self._is_filled(this, _ZEROS) and type_of(other) == call.checked_type:
                return call_op("zeros_like", other)
        return new

    def _is_filled(self, expr: RelayExpr, operators: frozenset[str]) -> bool:
        """Return whether an expression, or what a variable is bound to, is the call of one of these operators."""
        while isinstance(expr, Var) and expr in self._bound:
            expr = self._bound[expr]
        return op_name(expr) in operators
