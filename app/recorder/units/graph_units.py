"""Builds the units of graphs: listings, drawings and statistics of every pass, and the kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import msgspec

from app.artifacts import Drawing, Kernel, Listing, OwnKernel, Problem, Step, Unit, Weight
from app.recorder.gpus.kernel_scripts import KernelScripts
from app.recorder.listings import from_builder
from app.recorder.measuring.weights import Weights, summarised
from app.recorder.printing import ArtifactPrinter, Memo
from app.recorder.units.graph_drawing import draw_module, layer_names
from app.recorder.units.kernels import kernel_groups, kernels_of, why_unmeasured
from app.recorder.units.model_file import ModelFile, faulty_origins, show_file
from app.recorder.units.pass_summary import pass_summary
from app.recorder.units.subjects import GraphSubject, PassRecord
from app.units import size
from compiler.driver.relay.build import BuiltGraph
from compiler.driver.relay.groups import group_calls
from compiler.driver.relay.lower import LoweredKernel
from compiler.ir.module import IRModule
from compiler.ir.origin import NO_SPAN, OriginTable, recording
from compiler.relay.analysis import list_op_freqs, memory_traffic
from compiler.relay.operator import operator_of
from compiler.relay.printer import astext, relay_text
from compiler.runtime.timing.clock import is_disturbed
from compiler.runtime.vm import Executable
from compiler.te.program import NotExpressible
from compiler.te.script import write_script


class GraphUnits:
    """Converts graphs to units, printing each module once.

    Parameters
    ----------
    table : OriginTable
        The origin table of the recording, with layer names.
    scripts : KernelScripts
        The kernels that the workspace defines.
    """

    def __init__(self, printing: ArtifactPrinter, table: OriginTable, scripts: KernelScripts) -> None:
        self._scripts = scripts
        self._printing = printing
        self._table = table
        self._printed: Memo[tuple[Listing, Drawing | None]] = Memo()
        self._files: Memo[tuple[Listing, Drawing | None]] = Memo()
        self._weights = Weights()
        self._facts: Memo[dict[str, float]] = Memo()
        self._kernel_scripts: Memo[str] = Memo()

    def unit(self, graph: GraphSubject) -> Unit:
        """Build the unit of a graph: a step for its initial form and one per pass."""
        with recording(self._table):
            return self._unit(graph)

    def _unit(self, graph: GraphSubject) -> Unit:
        steps = [*self._file_steps(graph.file), self._first_step(graph)]
        for record in graph.passes:
            steps.append(self._changed(record, steps[-1]) if record.changed else _unchanged(record, steps[-1]))
        return Unit(
            name=graph.name,
            kind="graph",
            line=graph.line,
            target=str(graph.target or ""),
            built=graph.built is not None,
            steps=steps,
            kernels=self._kernels(graph),
            unmeasured=why_unmeasured(graph.built) or graph.unmeasured if graph.built is not None else "",
            unbuilt=graph.unbuilt,
            own_kernels=self._own_kernels(graph),
            race=graph.race,
            memory=memory_words(graph.built) if graph.built is not None else [],
        )

    def print_ends(self, graphs: Iterable[GraphSubject]) -> None:
        """Print how each graph begins and ends, before there is no time for it, so that any two can be compared."""
        with recording(self._table):
            for graph in graphs:
                self._file_steps(graph.file)
                self._shown(graph.first)
                self._shown(graph.last)

    def file(self, file: ModelFile) -> Unit:
        """Build the unit of a model that could not be imported."""
        with recording(self._table):
            return Unit(name=FILE, kind="graph", line=file.line, steps=self._file_steps(file))

    def at_nodes(self, problem: Problem, files: Sequence[ModelFile]) -> Problem:
        """Return a problem with the nodes of the files that it names."""
        origins = [origin for file in files for origin in faulty_origins(file, self._table, problem.message)]
        return msgspec.structs.replace(problem, origins=origins) if origins else problem

    def _file_steps(self, file: ModelFile | None) -> list[Step]:
        if file is None:
            return []
        listing, drawing = self._printing.once(self._files, file, lambda: self._shown_file(file)) or (None, None)
        if listing is not None:
            listing = self._printing.keep(listing)
        if drawing is not None:
            self._printing.drawings[drawing.key] = drawing
        count = len(file.graph.nodes)
        return [
            Step(
                group="graph",
                name="File",
                detail=f"the model as it is stored: {file.form}",
                line=file.line,
                listing=listing.key if listing else None,
                drawing=drawing.key if drawing else None,
                delta={"operators": count, "lines": len(listing.lines) if listing else 0},
                facts={"operators": float(count)},
            )
        ]

    def _shown_file(self, file: ModelFile) -> tuple[Listing, Drawing | None]:
        def figures(name: str, kind: str) -> Weight | None:
            if name in file.imported:
                return self._weights.of(file.imported[name], name, kind)
            values = file.stored(name) if file.stored is not None else None
            return summarised(values, kind) if values is not None else None

        return show_file(file, self._table, figures)

    def _first_step(self, graph: GraphSubject) -> Step:
        listing, drawing, facts = self._shown(graph.first)
        return Step(
            group="graph",
            name="Graph",
            detail="the graph as it was made",
            line=graph.line,
            listing=listing.key if listing else None,
            drawing=drawing.key if drawing else None,
            delta={**_fact_delta({}, facts), "lines": len(listing.lines) if listing else 0},
            facts=facts,
        )

    def _changed(self, record: PassRecord, before: Step) -> Step:
        listing, drawing, facts = self._shown(record.module)
        lines_before = len(self._printing.listings[before.listing].lines) if before.listing else 0
        return Step(
            group="graph",
            name=record.name,
            detail=pass_summary(record.name),
            line=record.line,
            listing=listing.key if listing else None,
            drawing=drawing.key if drawing else None,
            milliseconds=round(record.milliseconds, 3),
            delta={**_fact_delta(before.facts, facts), "lines": (len(listing.lines) if listing else 0) - lines_before},
            facts=facts,
            checked="unchecked" if record.equivalent is None else "ok" if record.equivalent else "wrong",
            error=record.error,
        )

    def _shown(self, module: IRModule) -> tuple[Listing | None, Drawing | None, dict[str, float]]:
        """Return the listing and drawing of a module, if time permits, and its statistics."""

        def make() -> tuple[Listing, Drawing | None]:
            out = relay_text(module, show_meta_data=False)
            listing = from_builder(out, "main", {}, level="graph", language="relay")
            return listing, draw_module(module, "main", out, self._weights)

        listing, drawing = self._printing.once(self._printed, module, make) or (None, None)
        if listing is not None:
            listing = self._printing.keep(listing)
        if drawing is not None:
            self._printing.drawings[drawing.key] = drawing
        return listing, drawing, self._facts.make(module, lambda: graph_facts(module))

    def _kernels(self, graph: GraphSubject) -> list[Kernel]:
        if graph.built is None:
            return []
        groups = kernel_groups(graph.built)
        own = self._scripts.sources.keys() - self._scripts.problems.keys()
        return [
            Kernel(
                name=name,
                operators=[operator_of(call).name for call in group_calls(kernel.function)],
                calls=len(groups[name]) if isinstance(graph.built, BuiltGraph) else None,
                flops=kernel.flops,
                bytes=kernel.bytes,
                seconds=float(sum(graph.kernel_times[name])) if name in graph.kernel_times else None,
                disturbed=is_disturbed(graph.kernel_times.get(name, ())),
                origins=sorted(span),
                layers=layer_names(span),
                script=self._kernel_scripts.make(kernel, partial(kernel_script, kernel, str(graph.target))),
                found=kernel.replaced is not None and name not in own,
            )
            for name, kernel in kernels_of(graph.built).items()
            for span in [NO_SPAN.union(*(call.span for group in groups[name] for call in group_calls(group)))]
        ]

    def _own_kernels(self, graph: GraphSubject) -> list[OwnKernel]:
        """Return the status of the kernels that the workspace defines."""
        if graph.built is None:
            return []
        kernels, problems = kernels_of(graph.built), self._scripts.problems
        return [
            OwnKernel(name=name, problem=problems.get(name, "") if name in kernels else NO_KERNEL)
            for name in self._scripts.sources
        ]


def _unchanged(record: PassRecord, before: Step) -> Step:
    return Step(
        group="graph",
        name=record.name,
        detail=record.skipped or pass_summary(record.name),
        applied=not record.skipped,
        line=record.line,
        listing=before.listing,
        drawing=before.drawing,
        facts=before.facts,
        changed=False,
        milliseconds=None if record.skipped else round(record.milliseconds, 3),
    )


def _fact_delta(before: dict[str, float], after: dict[str, float]) -> dict[str, int]:
    return {name: int(after[name] - before.get(name, 0)) for name in ("operators", "kernels")}


def graph_facts(module: IRModule) -> dict[str, float]:
    """Return the numbers of operators and kernels of a graph, and the memory traffic of a run where types tell it."""
    traffic = memory_traffic(module)
    counts = {"operators": float(sum(list_op_freqs(module).values())), "kernels": float(traffic.kernels)}
    if traffic.untyped:
        return counts
    return counts | {"bytes read": float(traffic.bytes_read), "bytes written": float(traffic.bytes_written)}


def memory_words(built: BuiltGraph | Executable) -> list[str]:
    """Describe the buffer sharing of a graph."""
    if not isinstance(built, BuiltGraph) or not built.memory.unshared:
        return []
    plan = built.memory
    shared, unshared = size(plan.shared), size(plan.unshared)
    return [f"activations {shared}" + (f" ({unshared} without reuse)" if shared != unshared else "")]


FILE = "model file"
NO_KERNEL = "the model has no kernel of this name now"


def kernel_script(kernel: LoweredKernel, target: str) -> str:
    """Write a script that defines a kernel, schedules it primitive by primitive, and builds it.

    It uses the original definition, even if the workspace overrides it.  A kernel with an operator that is not a plain
    tensor expression is written as its graph.
    """
    title = f"{kernel.name}: one kernel of a model, with the schedule that was made for it."
    usual = kernel.usual
    try:
        return write_script(usual.schedule, [*usual.inputs, *usual.outputs], target, kernel.name, title)
    except NotExpressible:
        text = astext(IRModule({"main": kernel.function.without_attr("Primitive")}))
        return GRAPH_SCRIPT.format(name=kernel.name, text=text, target=target)


GRAPH_SCRIPT = '''"""{name}: one kernel of a model."""

import tvm
from tvm import relay

mod = relay.fromtext("""
{text}
""")
mod = relay.transform.InferType()(mod)
with tvm.transform.PassContext(opt_level=1):
    lib = relay.build(mod, target="{target}")
'''
