"""ToANormalForm: binds every intermediate value with a let."""

from __future__ import annotations

from typing import ClassVar

from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.transform import PassContext
from compiler.relay.expr import GraphExpr
from compiler.relay.function import Function
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.normal_form.let_insertion import LetInsertion


class ToANormalForm(FunctionPass, opt_level=1):
    """Bind every value with a let, in the order of evaluation, so that operands are variables only.

    Level 1.  What is shared is evaluated once, where all of its users can see it.  Kernels have names too, and stay as
    they are.  After C. Flanagan et al., "The essence of compiling with continuations", PLDI 1993.

    Examples
    --------
    ``ToANormalForm()``::

        def @main(%x: Tensor[(3), float32]) {
          %0 = nn.relu(%x);
          add(%0, %0)
        }
        ->
        def @main(%x: Tensor[(3), float32]) {
          let %a = nn.relu(%x);
          let %b = add(%a, %a);
          %b
        }
    """

    adds_types: ClassVar[bool] = False

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rebuild(func, body=normal_form(func.body, kernels=True))


def ToANormalFormExpr(e: GraphExpr) -> RelayExpr:
    """Return an expression in A-normal form (:class:`ToANormalForm`); the same where it is in that form already."""
    if isinstance(e, Function):
        return rebuild(e, body=normal_form(e.body, kernels=True))
    return normal_form(e, kernels=True)


def normal_form(e: GraphExpr, kernels: bool = False) -> RelayExpr:
    """Return an expression in A-normal form; with ``kernels``, those that are called have names as well."""
    return LetInsertion(lambda part, scopes: True, constants=True, kernels=kernels).apply(e)
