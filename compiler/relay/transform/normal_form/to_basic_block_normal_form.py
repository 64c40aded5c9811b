"""ToBasicBlockNormalForm: binds the values that several blocks share."""

from __future__ import annotations

from typing import ClassVar

from compiler.ir.module import IRModule
from compiler.ir.node import duplicate, rebuild
from compiler.ir.transform import PassContext
from compiler.relay.analysis import Effects
from compiler.relay.analysis.scopes import Scopes
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.function import Function
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.normal_form.let_insertion import LetInsertion


class ToBasicBlockNormalForm(FunctionPass, opt_level=1):
    """Bind what several blocks (bodies of functions, branches, clauses) use in the block around all of them.

    Level 1.  Inside of a block expressions stay a graph.  Of the result no types are known before InferType.

    Examples
    --------
    ``ToBasicBlockNormalForm()``::

        def @main(%c: bool, %x: Tensor[(3), float32]) {
          %0 = add(%x, %x);
          if (%c) { nn.relu(%0) } else { %0 }
        }
        ->
        def @main(%c: bool, %x: Tensor[(3), float32]) {
          let %y = add(%x, %x);
          if (%c) { nn.relu(%y) } else { %y }
        }
    """

    adds_types: ClassVar[bool] = False
    keeps_types: ClassVar[bool] = False

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        effects = Effects(func, mod)

        def must_bind(part: GraphExpr, scopes: Scopes) -> bool:
            return part in scopes.shared or effects.of(part)

        body = LetInsertion(must_bind, other_names=True).apply(func.body)
        if isinstance(body, Call) and body.checked_type_ is not None:
            body = duplicate(body, {})
        return rebuild(func, body=body)
