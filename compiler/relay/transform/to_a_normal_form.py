"""ToANormalForm: every value has a name."""

from __future__ import annotations

from typing import Any

from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext
from compiler.relay.expr import Function, GraphExpr
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.let_binding import LetBinding


class ToANormalForm(FunctionPass, opt_level=1):
    """Names every value with a let, in the order of evaluation, so that operands are names and constants only.

    What is shared is evaluated once, where all of its users can see it::

        fn (%x) { add(nn.relu(%x), nn.relu(%x)) }       (one nn.relu, used twice)
        fn (%x) { let %a = nn.relu(%x); let %b = add(%a, %a); %b }

    See Flanagan et al., "The essence of compiling with continuations" (1993).
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rebuild(func, body=ToANormalFormExpr(func.body))


def ToANormalFormExpr(expr: GraphExpr) -> Any:
    """Return an expression in A-normal form."""
    return LetBinding(lambda part, scopes: True).apply(expr)
