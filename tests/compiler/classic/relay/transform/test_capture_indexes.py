"""Spans of places in a walk over a function, as classic TVM numbers them."""

from __future__ import annotations

from typing import Any

from compiler import relay
from compiler.ir.module import IRModule
from compiler.ir.source_span import Span
from compiler.ir.structural import structural_equal


def places(mod: IRModule) -> dict[str, tuple[int, int]]:
    """Return the place of each expression but operators, and of its dominator, by what it is."""
    found: dict[str, tuple[int, int]] = {}

    def note(part: Any) -> None:
        if isinstance(part.span, Span):
            name = getattr(part, "name_hint", "") or getattr(getattr(part, "op", None), "name", type(part).__name__)
            found[name] = (part.span.line, part.span.column)

    relay.analysis.post_order_visit(mod["main"], note)
    for param in mod["main"].params:
        note(param)
    return found


def test_operands_come_before_users_and_paths_meet_in_the_dominator() -> None:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    joined = relay.add(relay.exp(x), relay.tanh(x))
    func = relay.Function([x, y], relay.nn.relu(relay.multiply(joined, y)))
    after = relay.transform.CapturePostDfsIndexInSpans()(IRModule.from_expr(func))
    assert places(after) == {
        "x": (0, 9),
        "y": (1, 10),
        "exp": (6, 9),
        "tanh": (8, 9),
        "add": (9, 10),
        "multiply": (10, 11),
        "nn.relu": (11, 12),
        "Function": (12, -1),
    }
    assert "%x: Tensor[(2, 3), float32] /* ty=Tensor[(2, 3), float32] span=index:0:9 */" in str(after)
    assert relay.analysis.well_formed(after)
    assert IRModule.from_expr(func)["main"].params[0] is x


def test_variables_of_patterns_and_lets_stay_bound() -> None:
    x, y, first, second, both = (relay.var(name, shape=(3,)) for name in ("x", "y", "first", "second", "both"))
    pattern = relay.PatternTuple([relay.PatternVar(first), relay.PatternVar(second)])
    matched = relay.Match(relay.Tuple([x, y]), [relay.Clause(pattern, relay.subtract(second, first))])
    mod = IRModule.from_expr(relay.Function([x, y], relay.Let(both, matched, relay.add(both, x))))
    after = relay.transform.CapturePostDfsIndexInSpans()(mod)
    assert relay.analysis.well_formed(after)
    assert structural_equal(after, relay.transform.InferType()(mod))
