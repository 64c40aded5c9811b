"""Single passes over single expressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from compiler.classic.relay.prelude import Prelude
from compiler.ir.expr import RelayExpr
from compiler.ir.module import IRModule
from compiler.ir.transform import Pass, Sequential
from compiler.relay.analysis import post_order
from compiler.relay.expr import Call
from compiler.relay.function import Function
from compiler.relay.operator import RelayOp
from compiler.relay.transform.infer_type import InferType


def run_opt_pass(expr: RelayExpr, opt_pass: Pass | Sequence[Pass], import_prelude: bool = False) -> RelayExpr:
    """Run a pass over an expression, as the ``main`` of a module, perhaps with the prelude.

    The expression is a function, or the body of one whose parameters are the free variables; so is what is returned.
    """
    mod = IRModule.from_expr(expr)
    if import_prelude:
        Prelude(mod)
    chosen = opt_pass if isinstance(opt_pass, Pass) else Sequential(list(opt_pass))
    main: Function = chosen(mod)["main"]
    return main if isinstance(expr, Function) else main.body


def run_infer_type(expr: RelayExpr) -> RelayExpr:
    """Return an expression with its types."""
    return run_opt_pass(expr, InferType())


def count_ops(expr: RelayExpr) -> dict[str, int]:
    """Return how often each operator is called in an expression."""
    calls = (e.op.name for e in post_order(expr) if isinstance(e, Call) and isinstance(e.op, RelayOp))
    return dict(Counter(calls))
