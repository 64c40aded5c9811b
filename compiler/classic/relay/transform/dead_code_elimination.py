"""DeadCodeElimination: removes bindings that nothing uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import derived_from
from compiler.ir.transform import PassContext
from compiler.relay.analysis import Effects, operands, post_order
from compiler.relay.analysis.scopes import post_order_outside_kernels, scoped_operands
from compiler.relay.expr import GraphExpr, Let, Var
from compiler.relay.function import Function
from compiler.relay.reference import RefCreate, RefWrite
from compiler.relay.transform.function_pass import FunctionPass
from compiler.relay.transform.normal_form.let_insertion import with_scoped_operands


class DeadCodeElimination(FunctionPass, opt_level=1, required=("InferType",)):
    """Remove lets whose variable nothing that is needed uses.

    Level 1; requires InferType.  A reference that is written and never read is not needed, nor is writing it.
    ``inline_once`` puts values that are used once in place of their variables.  ``ignore_impurity`` removes values that
    may have side effects as well, which is right only where no effect is observed any more, as after PartialEvaluate
    has found what all references hold.

    Examples
    --------
    ``DeadCodeElimination()``::

        def @main(%x: Tensor[(3), float32]) {
          let %a = nn.relu(%x);
          let %b = tanh(%x);
          %b
        }
        ->
        def @main(%x: Tensor[(3), float32]) {
          let %b = tanh(%x);
          %b
        }

    ``DeadCodeElimination(inline_once=True)``::

        def @main(%x: Tensor[(3), float32]) {
          let %a = nn.relu(%x);
          let %b = tanh(%a);
          add(%b, %b)
        }
        ->
        def @main(%x: Tensor[(3), float32]) {
          let %b = tanh(nn.relu(%x));
          add(%b, %b)
        }

    ``DeadCodeElimination(ignore_impurity=True)``::

        def @main(%x: Tensor[(3), float32]) {
          let %r = ref(%x);
          let %u = ref_write(%r, tanh(%x));
          %x
        }
        ->
        def @main(%x: Tensor[(3), float32]) { %x }
    """

    inline_once: bool = False
    ignore_impurity: bool = False

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        while True:
            unread = _unread_references(func)
            before, func = func, self._without_dead_code(func, mod, unread)
            if not unread or func is before:  # else what was written has become dead, and with it other references
                return func

    def _without_dead_code(self, func: Function, mod: IRModule, unread: set[GraphExpr]) -> Function:
        effects = Effects(func, mod)

        def stays(value: RelayExpr) -> bool:
            if self.ignore_impurity:
                return False
            if value in unread:
                return any(effects.of(operand) for operand in operands(value))
            return effects.of(value)

        uses = _Uses(func, stays)
        once = {let.var: let.value for let in uses.lets if self.inline_once and uses.once(let) and not stays(let.value)}
        return _rebuilt(func, uses, once)


def _unread_references(func: Function) -> set[GraphExpr]:
    """Return the references that lets only create, name and write, as what creates them, and what writes them."""
    parts = post_order(func.body)
    lets = [part for part in parts if isinstance(part, Let)]
    values = {let.var: let.value for let in lets}

    def named(expr: GraphExpr) -> GraphExpr:
        while isinstance(expr, Var) and isinstance(value := values.get(expr), Var):
            expr = value
        return expr

    created = {let.var: let.value for let in lets if isinstance(let.value, RefCreate)}
    writes = {let.value: named(let.value.ref) for let in lets if isinstance(let.value, RefWrite)}
    used: set[GraphExpr] = set()
    for part in parts:
        of_part = (part.value,) if part in writes else (part.body,) if isinstance(part, Let) else operands(part)
        used.update(map(named, of_part))
    unread = created.keys() - used
    return {*[created[var] for var in unread], *[write for write, var in writes.items() if var in unread]}


class _Uses:
    """Which variables are needed, how often they are used, and inside of which function."""

    def __init__(self, func: Function, stays: Callable[[RelayExpr], bool]) -> None:
        self.lets: list[Let] = []
        self.needed: set[GraphExpr] = set()
        self.effectful: set[Var] = set()
        """Variables that nothing may need, but whose values have effects."""
        self._count: dict[GraphExpr, int] = {}
        self._home: dict[GraphExpr, RelayExpr] = {}
        self._used_in: dict[GraphExpr, RelayExpr] = {}
        values: dict[Var, RelayExpr] = {}
        todo: list[tuple[Any, Any]] = [(func.body, func)]
        for part in post_order(func.body):
            if isinstance(part, Let):
                values[part.var] = part.value
        while todo:
            part, home = todo.pop()
            self._count[part] = self._count.get(part, 0) + 1
            if part in self.needed:
                continue
            self.needed.add(part)
            self._used_in[part] = home
            if isinstance(part, Let):
                self.lets.append(part)
                self._home[part.var] = home
                todo.append((part.body, home))
                if stays(part.value):
                    self.effectful.add(part.var)
                    todo.append((part.value, home))
            elif isinstance(part, Var):
                todo += [(values[part], home)] if part in values else []
            else:
                inside = part if isinstance(part, Function) else home
                todo += [(p, inside) for p in operands(part)]

    def once(self, let: Let) -> bool:
        """Return whether a value is used in one place only, which is evaluated once if its name is."""
        if self._count.get(let.var) != 1:
            return False
        return isinstance(let.value, Function) or self._used_in[let.var] is self._home[let.var]


def _rebuilt(func: Function, uses: _Uses, once: dict[Var, RelayExpr]) -> Function:
    new: dict[GraphExpr, Any] = {}
    for part in post_order_outside_kernels(func.body):
        if isinstance(part, Let):
            new[part] = _let(part, new, uses, once)
        elif part in once:
            new[part] = new[once[part]]
        else:
            with derived_from(part.span):
                new[part] = with_scoped_operands(part, [new[p] for p in scoped_operands(part)])
    body = new[func.body]
    return rebuild(func, body=body)


def _let(let: Let, new: dict[GraphExpr, RelayExpr], uses: _Uses, once: dict[Var, RelayExpr]) -> RelayExpr:
    value, body = new[let.value], new[let.body]
    if let.var in once or not (let.var in uses.needed or let.var in uses.effectful):
        return body
    if value is let.value and body is let.body:
        return let
    with derived_from(let.span):
        return rebuild(let, value=value, body=body)
