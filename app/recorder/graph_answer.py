"""Makes the graph units of an answer: listings, drawings and facts of every pass, and the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.artifacts import Drawing, Kernel, Listing, Step, Unit
from app.recorder.graph_drawing import draw_module
from app.recorder.graph_watch import GraphPass, GraphRecord
from app.recorder.kernel_view import kernel_calls, kernels_of
from app.recorder.listings import from_builder
from app.recorder.pass_words import pass_words
from compiler.driver.relay.build import BuiltGraph
from compiler.driver.relay.lower import group_calls
from compiler.ir.module import IRModule
from compiler.ir.origin import NO_SPAN
from compiler.relay.analysis import count_ops, memory_traffic
from compiler.relay.operator import operator_of
from compiler.relay.printer import astext, relay_text


class GraphAnswers:
    """Turns graph records into units; a module that was printed once is not printed again.

    Parameters
    ----------
    may_print : callable
        Returns whether there is time for another listing.
    """

    def __init__(self, may_print: Callable[[], bool]) -> None:
        self._may_print = may_print
        self._modules: dict[int, tuple[IRModule, Listing, Drawing | None]] = {}
        self._facts: dict[int, tuple[IRModule, dict[str, float]]] = {}
        self.listings: dict[str, Listing] = {}
        self.drawings: dict[str, Drawing] = {}

    def unit(self, record: GraphRecord) -> Unit:
        """Return the unit of a record: a step for its first form and one for each pass."""
        first = GraphPass("Graph", record.first, 0.0, True, record.line)
        steps: list[Step] = []
        before: Step | None = None
        for index, item in enumerate([first, *record.passes]):
            step = self._step(item, before, index == 0)
            steps.append(step)
            before = step
        return Unit(
            name=record.name,
            kind="graph",
            line=record.line,
            target=str(record.target or ""),
            built=record.built is not None,
            steps=steps,
            kernels=self._kernels(record),
            memory=memory_words(record.built) if record.built is not None else [],
        )

    def _step(self, item: GraphPass, before: Step | None, first: bool) -> Step:
        if before is not None and not item.changed:
            return Step(
                group="graph",
                name=item.name,
                detail=item.left_out or pass_words(item.name),
                applied=not item.left_out,
                line=item.line,
                listing=before.listing,
                drawing=before.drawing,
                facts=before.facts,
                changed=False,
                milliseconds=None if item.left_out else round(item.milliseconds, 3),
            )
        listing, drawing = self._printed(item.module)
        facts = self._facts_of(item.module)
        old = before.facts if before is not None else {}
        lines = len(listing.lines) if listing else 0
        lines_before = len(self.listings[before.listing].lines) if before is not None and before.listing else 0
        delta: dict[str, int] = {k: int(facts[k] - old.get(k, 0)) for k in ("operators", "kernels") if k in facts}
        return Step(
            group="graph",
            name=item.name,
            detail="the graph as it was made" if first else pass_words(item.name),
            line=item.line,
            listing=listing.key if listing else None,
            drawing=drawing.key if drawing else None,
            milliseconds=None if first else round(item.milliseconds, 3),
            delta={**delta, "lines": lines - lines_before},
            facts=facts,
            checked="unchecked" if item.same is None else "ok" if item.same else "wrong",
            error=item.error,
        )

    def _printed(self, module: IRModule) -> tuple[Listing | None, Drawing | None]:
        known = self._modules.get(id(module))
        if known is None:
            if not self._may_print():
                return None, None
            out = relay_text(module, show_meta_data=False)
            listing = from_builder(out, "main", {}, level="graph", language="relay")
            known = self._modules[id(module)] = (module, listing, draw_module(module, "main", out))
        _, listing, drawing = known
        self.listings[listing.key] = listing
        if drawing is not None:
            self.drawings[drawing.key] = drawing
        return listing, drawing

    def _facts_of(self, module: IRModule) -> dict[str, float]:
        known = self._facts.get(id(module))
        if known is None:
            known = self._facts[id(module)] = (module, graph_facts(module))
        return known[1]

    def _kernels(self, record: GraphRecord) -> list[Kernel]:
        if record.built is None:
            return []
        calls = kernel_calls(record.built)
        return [
            Kernel(
                name=name,
                operators=[operator_of(call).name for call in group_calls(kernel.function)],
                calls=calls[name],
                flops=kernel.flops,
                bytes=kernel.bytes,
                seconds=record.seconds.get(name),
                origins=sorted(NO_SPAN.union(*(call.span for call in group_calls(kernel.function)))),
                script=kernel_script(name, kernel.function, str(record.target)),
            )
            for name, kernel in kernels_of(record.built).items()
        ]


def graph_facts(module: IRModule) -> dict[str, float]:
    """Return the number of operators and kernels of a graph, and the bytes that a run of it reads and writes."""
    traffic = memory_traffic(module)
    return {
        "operators": float(sum(count_ops(module).values())),
        "kernels": float(traffic.kernels),
        "bytes read": float(traffic.bytes_read),
        "bytes written": float(traffic.bytes_written),
    }


def memory_words(built: Any) -> list[str]:
    """Return how a graph's buffers are shared, in words."""
    if not isinstance(built, BuiltGraph) or not built.memory.unshared:
        return []
    plan = built.memory
    return [f"{plan.shared / 1024:,.0f} KB for results that would take {plan.unshared / 1024:,.0f} KB unshared"]


def kernel_script(name: str, function: Any, target: str) -> str:
    """Return a script that schedules and builds one kernel on its own."""
    text = astext(IRModule({"main": function.without_attr("Primitive")}))
    return KERNEL_SCRIPT.format(name=name, text=text, target=target)


KERNEL_SCRIPT = '''"""{name}: one kernel of a model."""

import tvm
from tvm import relay

mod = relay.fromtext("""
{text}
""")
mod = relay.transform.InferType()(mod)
with tvm.transform.PassContext(opt_level=1):
    lib = relay.build(mod, target="{target}")
'''
