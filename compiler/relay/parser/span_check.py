"""SpanCheck: names the expressions of which nothing says where they come from."""

from __future__ import annotations

import warnings

from compiler.ir.module import IRModule
from compiler.ir.origin import named_origins
from compiler.ir.transform import ModulePass, PassContext
from compiler.relay.analysis.traversal import post_order
from compiler.relay.expr import Call, Tuple
from compiler.relay.function import Function


class SpanCheck(ModulePass):
    """Warn of calls and tuples without a place in a text or a model; the module stays as it is.

    Level 0.  Where origins are recorded, what parser and importers make has places, and so has what passes make of it;
    what a Python program builds has none until ``AnnotateSpans`` gives it one.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        for var, func in mod.items():
            parts = post_order(func) if isinstance(func, Function) else ()
            without = sum(isinstance(part, (Call, Tuple)) and not named_origins(part.span) for part in parts)
            if without:
                warnings.warn(f"SpanCheck: {without} calls and tuples of @{var.name_hint} have no span", stacklevel=2)
        return mod
