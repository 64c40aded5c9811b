"""Legalize: replaces operator calls by their registered legalisation."""

from __future__ import annotations

from compiler.ir.error import ArgumentError
from compiler.ir.expr import RelayExpr
from compiler.ir.structural import structural_equal
from compiler.relay.expr import Call
from compiler.relay.transform.rewriter import GraphMutator, RewritePass, relay_op, type_of


class Legalize(RewritePass, opt_level=1, required=("InferType",)):
    """Put in place of calls what the attribute ``legalize_map_attr_name`` of their operator makes of them.

    Level 1; requires InferType.  The attribute, set by ``Op.set_attr``, is a function from the call's attributes, its
    arguments, and their types with that of the result last, to an expression of the same type, or None.

    Examples
    --------
    ``Legalize('FTVMLegalize')``, with nothing set for the operators here::

        def @main(%x: Tensor[(3), float32]) { nn.relu(%x) }
        ->
        def @main(%x: Tensor[(3), float32]) { nn.relu(%x) }
    """

    legalize_map_attr_name: str = "FTVMLegalize"

    def mutator(self) -> GraphMutator:
        return _Legalizer(self.legalize_map_attr_name)


class _Legalizer(GraphMutator):
    def __init__(self, attribute: str) -> None:
        super().__init__()
        self._attribute = attribute

    def visit_call(self, call: Call) -> RelayExpr:
        new = self.rebuilt_call(call)
        op = relay_op(call)
        rule = None if op is None else op.get_attr(self._attribute)
        if rule is None:
            return new
        types = [*(type_of(arg) for arg in call.args), type_of(call)]
        made: RelayExpr | None = rule(new.attrs, new.args, types)
        if made is None:
            return new
        if not structural_equal(type_of(made), types[-1]):
            raise ArgumentError(
                f"Legalize: {op} was replaced by an expression of type {type_of(made)}, expected {types[-1]}"
            )
        return made
