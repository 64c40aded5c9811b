"""Counts the calls of each operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from compiler.ir.module import IRModule
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.expr import Call, GraphExpr
from compiler.relay.function import Function
from compiler.relay.operator import RelayOp, op_name


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """Return how often each operator is called in a module, inside of kernels too."""
    return _count(mod, lambda func: (part for part in post_order(func) if isinstance(part, Call)))


def list_fake_quantized_op_freqs(mod: IRModule) -> dict[str, int]:
    """Return how often each operator is called on values that were quantized before and are quantized after.

    Such operators compute with floating-point numbers where integers would do, see ``FakeQuantizationToInteger``.
    """
    return _count(mod, _fake_quantized)


def _count(mod: IRModule, calls_of: Callable[[Function], Iterator[Call]]) -> dict[str, int]:
    functions = [func for func in mod.functions.values() if isinstance(func, Function)]
    calls = (call for func in functions for call in calls_of(func))
    return dict(Counter(call.op.name for call in calls if isinstance(call.op, RelayOp)).most_common())


def _fake_quantized(func: Function) -> Iterator[Call]:
    """Yield the calls between ``qnn.dequantize`` and ``qnn.quantize``."""
    yielded: set[Call] = set()
    for part in post_order(func):
        if isinstance(part, Call) and op_name(part) == "qnn.quantize":
            region = post_order(part.args[0], _up_to_dequantize)
            if any(op_name(each) == "qnn.dequantize" for each in region):
                calls = [e for e in region if isinstance(e, Call) and op_name(e) != "qnn.dequantize"]
                yield from (call for call in calls if call not in yielded)
                yielded.update(calls)


def _up_to_dequantize(expr: GraphExpr) -> tuple[GraphExpr, ...]:
    return () if op_name(expr) == "qnn.dequantize" else operands(expr)
