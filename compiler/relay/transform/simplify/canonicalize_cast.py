"""CanonicalizeCast: duplicates widening casts for each user."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import duplicate, rebuild
from compiler.ir.transform import PassContext
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.function import Function
from compiler.relay.operator import OpPattern
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.rewriter import GraphMutator, call_of, op_name, relay_op, tensor_type, typed, users_of


class CanonicalizeCast(FunctionPass, opt_level=3, required=("InferType",)):
    """Give each user of a widening cast a cast of its own.

    Level 3; requires InferType.  A cast that several kernels share is a kernel with a wide result in memory; copies are
    fused into the users, which then read the narrow value.  Users that are more than elementwise share one.

    Examples
    --------
    ``CanonicalizeCast()``::

        def @main(%x: Tensor[(3), int8]) {
          %0 = cast(%x, dtype="int32");
          (negative(%0), abs(%0))
        }
        ->
        def @main(%x: Tensor[(3), int8]) { (negative(cast(%x, dtype="int32")), abs(cast(%x, dtype="int32"))) }
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return _Canonicalizer(users_of(func)).rewrite_function(func)


class _Canonicalizer(GraphMutator):
    def __init__(self, users: dict[GraphExpr, int]) -> None:
        super().__init__()
        self._users = users
        self._taken: set[GraphExpr] = set()

    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        op = relay_op(new)
        if op is None or op.pattern > OpPattern.BROADCAST:
            return new
        args = tuple([self._own(old, arg) for old, arg in zip(call.args, new.args, strict=True)])
        return rebuild(new, args=args)

    def _own(self, old: GraphExpr, arg: RelayExpr) -> RelayExpr:
        cast = call_of(old, "cast")
        if cast is None or self._users[old] < 2 or op_name(arg) != "cast" or not _widens(cast):
            return arg
        if old not in self._taken:
            self._taken.add(old)
            return arg
        return typed(duplicate(arg, {}), old.checked_type_)


def _widens(cast: Call) -> bool:
    before, after = tensor_type(cast.args[0]), tensor_type(cast)
    return before is not None and after is not None and dt.parse(before.dtype).bits < dt.parse(after.dtype).bits
