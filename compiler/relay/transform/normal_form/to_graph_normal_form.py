"""ToGraphNormalForm: turns lets into shared expressions."""

from __future__ import annotations

from typing import Any, ClassVar

from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.ir.transform import PassContext
from compiler.relay.analysis import Effects, free_vars
from compiler.relay.analysis.scopes import post_order_outside_kernels, scoped_operands
from compiler.relay.expr import GraphExpr, Let
from compiler.relay.function import Function
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.normal_form.let_insertion import with_scoped_operands


class ToGraphNormalForm(FunctionPass, opt_level=1):
    """Substitute values for the variables that lets bind them to, so that what is shared is one expression.

    Level 1.  Lets remain around what must be evaluated in its order, and around functions that call themselves.

    Examples
    --------
    ``ToGraphNormalForm()``::

        def @main(%x: Tensor[(3), float32]) {
          let %a = nn.relu(%x);
          let %b = add(%a, %a);
          %b
        }
        ->
        def @main(%x: Tensor[(3), float32]) {
          %0 = nn.relu(%x);
          add(%0, %0)
        }
    """

    adds_types: ClassVar[bool] = False

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rebuild(func, body=graph_normal_form(func.body, mod))


def graph_normal_form(expr: GraphExpr, mod: IRModule | None = None) -> RelayExpr:
    """Return an expression as a graph."""
    parts = post_order_outside_kernels(expr)
    effects = Effects(expr, mod)
    values = {let.var: let.value for let in parts if isinstance(let, Let) and not _keeps_name(let, effects)}
    new: dict[GraphExpr, Any] = {}
    for part in parts:
        if isinstance(part, Let) and part.var in values:
            new[part] = new[part.body]
        elif part in values:
            new[part] = new.get(values[part], part)
        elif isinstance(part, Let):
            with derived_from(part.span):
                new[part] = rebuild(part, value=new[part.value], body=new[part.body])
        else:
            with derived_from(part.span):
                new[part] = with_scoped_operands(part, [new[p] for p in scoped_operands(part)])
    result: RelayExpr = new[expr]
    return result


def _keeps_name(let: Let, effects: Effects) -> bool:
    recursive = isinstance(let.value, Function) and let.var in free_vars(let.value)
    return recursive or effects.of(let.value)
