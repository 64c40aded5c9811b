"""DynamicToStatic: replaces dynamic operators whose shape arguments are constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.ir.instrument import uninstrumented
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.ir.transform import PassContext
from compiler.relay.analysis.scopes import post_order_outside_kernels, scoped_operands
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.inference import TypeInferenceError, infer_copies, infer_expr
from compiler.relay.operator import RelayOp
from compiler.relay.transform.fold.fold_constant import FoldConstantExpr
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.normal_form.let_insertion import reported, with_scoped_operands
from compiler.relay.transform.rewriter import typed


class DynamicToStatic(FunctionPass, opt_level=2):
    """Replace dynamic operators by their static forms where the arguments that decide the shape can be computed.

    Level 2.  What one replacement makes known may decide the next, and the type of what had none before; of branches
    whose condition can be computed one is left.

    Examples
    --------
    ``DynamicToStatic()``::

        def @main(%x: Tensor[(2, 6), float32]) { dyn.reshape(%x, shape_of(transpose(%x))) }
        ->
        def @main(%x: Tensor[(2, 6), float32]) { reshape(%x, newshape=[6, 2]) }
    """

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Run the pass; types that cannot be inferred yet, such as that of a shape of unknown length, are left open."""
        try:
            typed = infer_copies(mod)
        except TypeInferenceError:
            typed = mod
        return super().apply(typed, ctx)

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return _StaticRewriter(mod).function(func)


class _StaticRewriter:
    def __init__(self, mod: IRModule) -> None:
        self._mod = mod
        self._new: dict[GraphExpr, Any] = {}
        self._lets: dict[Var, Let] = {}
        self._named: dict[Var, RelayExpr] = {}
        self._values: dict[GraphExpr, RelayExpr | None] = {}

    def function(self, func: Function) -> Function:
        parts = post_order_outside_kernels(func.body)
        self._lets = {let.var: let for let in parts if isinstance(let, Let)}
        for part in parts:
            with derived_from(part.span):
                self._new[part] = self._replacement(part)
        body = self._new[func.body]
        return func if body is func.body else rebuild(func, body=body, ret_type=None)

    def _replacement(self, part: GraphExpr) -> Any:
        if isinstance(part, Let):
            return self._let(part)
        if isinstance(part, Var):
            return self._variable(part)
        new = self._static_form(with_scoped_operands(part, [self._new[p] for p in scoped_operands(part)]))
        if isinstance(new, If) and isinstance(cond := self._value(new.cond), Constant):
            return new.true_branch if cond.value else new.false_branch
        if new is part:
            return part
        if isinstance(new, Function):
            return rebuild(new, ret_type=None)
        infer_expr(new, self._mod)
        return new

    def _static_form(self, e: GraphExpr) -> Any:
        if isinstance(e, TupleGetItem) and isinstance(e.tuple_value, Tuple) and e.index < len(e.tuple_value.fields):
            return e.tuple_value.fields[e.index]
        if not (isinstance(e, Call) and isinstance(e.op, RelayOp) and e.op.static_form is not None):
            return e
        deciding = [self._value(e.args[i]) for i in e.op.static_form.arguments]
        values = [value.value for value in deciding if isinstance(value, Constant)]
        return reported(e, e.op.static_form.call(e, values)) if len(values) == len(deciding) else e

    def _let(self, let: Let) -> RelayExpr:
        return rebuild(let, var=self._new.get(let.var, let.var), value=self._new[let.value], body=self._new[let.body])

    def _variable(self, var: Var) -> Var:
        """Return a let's variable, a new one where its value's type says more than it did."""
        let = self._lets.get(var)
        value = None if let is None else self._new.get(let.value)
        if value is None:
            return var
        result = var
        if value.checked_type_ not in (None, var.checked_type_):
            result = typed(Var(var.name_hint), value.checked_type_)
        self._named[result] = value
        return result

    def _value(self, e: GraphExpr) -> RelayExpr | None:
        """Return an expression as a constant, or a tuple of constants; None if it cannot be computed."""
        if e not in self._values:
            self._values[e] = self._computed(e)
        return self._values[e]

    def _computed(self, e: GraphExpr) -> RelayExpr | None:
        match e:
            case Constant():
                return e
            case Var():
                return self._value(self._named[e]) if e in self._named else None
            case Tuple():
                fields = [known for f in e.fields if (known := self._value(f)) is not None]
                return Tuple(tuple(fields)) if len(fields) == len(e.fields) else None
            case TupleGetItem():
                value = self._value(e.tuple_value)
                return value.fields[e.index] if isinstance(value, Tuple) else None
            case Call(op=RelayOp(stateful=False)):
                # Some answer from the types of their arguments alone, such as shape_of.
                value = _folded(e, [Var("x", arg.checked_type_ or infer_expr(arg, self._mod)) for arg in e.args])
                if value is None:
                    args = [known for arg in e.args if (known := self._value(arg)) is not None]
                    value = _folded(e, args) if len(args) == len(e.args) else None
                return value
            case _:
                return None


def _folded(call: Call, args: Sequence[RelayExpr]) -> RelayExpr | None:
    with uninstrumented():  # it is not part of the program
        folded = FoldConstantExpr(Call(call.op, tuple(args), call.attrs))
    return None if isinstance(folded, Call) else folded
