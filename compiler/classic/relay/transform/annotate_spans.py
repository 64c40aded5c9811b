"""AnnotateSpans: sets the span of each expression to its place in the module's text."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.node import Node, duplicate
from compiler.ir.origin import Location, active_table, derived_from, record_for_good
from compiler.ir.transform import Pass, PassContext
from compiler.relay.expr import Call, Tuple
from compiler.relay.function import Function
from compiler.relay.inference import infer_copies
from compiler.relay.printer import relay_text
from compiler.relay.transform.rewriter import GraphMutator

_SOURCE = "GeneratedSource"


class AnnotateSpans(Pass):
    """Give every call and tuple the place in the text of its module, which texts show from then on.

    Level 0.  The places stay on what later passes make of the expressions.

    Examples
    --------
    ``AnnotateSpans()``::

        def @main(%x: Tensor[(8), float32]) {
          %0 = nn.relu(%x);
          exp(%0)
        }
        ->
        def @main(%x: Tensor[(8), float32] /* ty=… */) -> Tensor[(8), float32] {
          %0 = nn.relu(%x) /* ty=… span=GeneratedSource:2:3 */;
          exp(%0) /* ty=… span=GeneratedSource:3:3 */
        }
    """

    def apply(self, mod: IRModule, ctx: PassContext) -> IRModule:
        record_for_good()
        places = relay_text(mod, show_meta_data=False).positions
        annotated = {
            var: _Annotate(places).visit(func) if isinstance(func, Function) else func for var, func in mod.items()
        }
        return infer_copies(mod.with_functions(annotated))


class _Annotate(GraphMutator):
    """Rebuilds calls and tuples with a row of the origin table for their place."""

    def __init__(self, places: Mapping[Node, tuple[int, int]]) -> None:
        super().__init__()
        self._places = places

    def visit_call(self, call: Call) -> RelayExpr:
        return self._placed(call, self.rebuilt_call(call))

    def visit_tuple(self, tup: Tuple) -> RelayExpr:
        return self._placed(tup, super().visit_tuple(tup))

    def _placed(self, old: Call | Tuple, new: RelayExpr) -> RelayExpr:
        table = active_table()
        if old not in self._places or table is None:
            return new
        line, column = self._places[old]
        location = Location(_SOURCE, line, column)
        with derived_from(table.mint("graph", _SOURCE, location, old.span, _SOURCE)):
            return duplicate(new, {})
