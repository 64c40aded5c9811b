"""Makes an answer out of what the watcher kept: listings, timelines, schedules, console."""

from __future__ import annotations

import time
from typing import Any

from app.artifacts import Answer, Group, Listing, Measurement, Options, Step, Unit
from app.recorder.graph_answer import GraphAnswers
from app.recorder.graph_watch import GraphWatcher
from app.recorder.listings import FinalListing, from_assembly, from_builder, from_llvm
from app.recorder.origins import OriginRows
from app.recorder.pass_words import pass_words
from app.recorder.schedule_tree import schedule_stages
from app.recorder.script import Script
from app.recorder.watch import UnitRecord, Watcher
from compiler.ir.functor import Visitor
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.ir.origin import OriginTable
from compiler.target.codegen.llvm import assembly_summary
from compiler.tir import printer

LLVM_STEPS = {"emitted": "as emitted", "optimised": "optimised"}


PRINTING_SECONDS = 2.0
"""Time that the listings of a snapshot may take; then those that are still to print are left out."""


class _NodeCount(Visitor):
    def __init__(self) -> None:
        self.nodes = 0

    def visit_Node(self, n: Node) -> None:
        self.nodes += 1
        Visitor.visit_Node(self, n)


def count_nodes(module: IRModule) -> int:
    """Return the number of statements and expressions of a module."""
    count = _NodeCount()
    for _, func in module.items():
        count.visit(func.body)
    return count.nodes


class AnswerBuilder:
    """Turns records into artifacts; what was turned once is not turned again."""

    def __init__(
        self, watcher: Watcher, graphs: GraphWatcher, table: OriginTable, script: Script, options: Options
    ) -> None:
        self._watcher = watcher
        self._graph_watcher = graphs
        self._graphs = GraphAnswers(self._may_print)
        self._script = script
        self._options = options
        self._rows = OriginRows(table)
        self._listings: dict[str, Listing] = {}
        self._printed: dict[int, tuple[IRModule, Listing]] = {}
        self._finals: dict[int, tuple[IRModule, FinalListing]] = {}
        self._texts: dict[int, tuple[Any, Listing]] = {}
        self._counts: dict[int, tuple[IRModule, int]] = {}
        self._sent: set[str] = set()
        self._began = time.perf_counter()
        self._print_until = 0.0
        self._unprinted = 0
        self.measurements: list[Measurement] = []

    def snapshot(self, mode: str, environment: dict[str, str], patience: float = PRINTING_SECONDS) -> Answer:
        """Return all that was seen until now; ``listings`` holds only those that no earlier snapshot held.

        Parameters
        ----------
        mode : str
        environment : dict
        patience : float
            Seconds after which no further listing is begun: the steps of a huge program stay without their texts.
        """
        self._print_until = time.perf_counter() + patience
        self._unprinted = 0
        graphs = [self._graphs.unit(record) for record in self._graph_watcher.graphs]
        units = [*graphs, *(self._unit(record) for record in self._watcher.units)]
        if self._unprinted and patience:
            self._script.transcript.note(f"the program is large: {self._unprinted} of its steps are not printed")
        if self._watcher.left_out:
            self._script.transcript.note(
                f"{self._watcher.left_out} more functions were built; the first {len(self._watcher.units)} are shown"
            )
        every = {**self._graphs.listings, **self._listings}
        fresh = {key: listing for key, listing in every.items() if key not in self._sent}
        drawings = {key: drawing for key, drawing in self._graphs.drawings.items() if key not in self._sent}
        self._sent.update(fresh, drawings)
        return Answer(
            mode=mode,  # type: ignore[arg-type]
            status="timeout" if self._script.timed_out else "error" if self._script.problems else "ok",
            units=units,
            listings=fresh,
            drawings=drawings,
            origins=self._rows.rows(),
            console=self._script.transcript.finished(),
            problems=list(self._script.problems),
            measurements=list(self.measurements),
            milliseconds=(time.perf_counter() - self._began) * 1e3,
            environment=environment,
        )

    def _unit(self, record: UnitRecord) -> Unit:
        final = self._final(record)
        texts = self._text_steps(record, final)  # first, as they matter most where time is short
        steps = [*self._schedule_steps(record), *self._lowering_steps(record, final), *texts]
        return Unit(
            name=record.name,
            line=record.line,
            target=str(record.target or ""),
            built=record.built is not None,
            steps=steps,
            schedule=schedule_stages(record.source) if record.schedule is not None else [],
        )

    def _may_print(self) -> bool:
        """Return whether there is time for another listing; what does not get one is counted."""
        if time.perf_counter() < self._print_until:
            return True
        self._unprinted += 1
        return False

    def _keep(self, listing: Listing) -> Listing:
        return self._listings.setdefault(listing.key, listing)

    # loop IR

    def _final(self, record: UnitRecord) -> FinalListing | None:
        """Return the listing of the loop IR that code generation read, or would read."""
        module = record.final or record.lowered
        if module is None:
            return None
        known = self._finals.get(id(module))
        if known is None:
            if not self._may_print():
                return None
            out = printer.script(module)
            known = self._finals[id(module)] = (module, FinalListing(out, record.name, self._rows, {}))
        self._keep(known[1].listing)
        return known[1]

    def _loop_listing(self, module: IRModule, record: UnitRecord, final: FinalListing | None) -> Listing | None:
        if final is not None and module is (record.final or record.lowered):
            return final.listing
        known = self._printed.get(id(module))
        if known is None:
            if not self._may_print():
                return None
            listing = from_builder(printer.script(module), record.name, {})
            known = self._printed[id(module)] = (module, listing)
        return self._keep(known[1])

    def _nodes(self, module: IRModule) -> int:
        known = self._counts.get(id(module))
        if known is None:
            known = self._counts[id(module)] = (module, count_nodes(module))
        return known[1]

    def _lowering_steps(self, record: UnitRecord, final: FinalListing | None) -> list[Step]:
        if record.first is None:
            return []
        listing, nodes = self._loop_listing(record.first, record, final), self._nodes(record.first)
        steps = [
            Step(
                group="lowering",
                name="Loops",
                detail="the loop nest that the schedule describes",
                phase=0,
                listing=listing.key if listing else None,
                delta={"nodes": nodes, **_line_delta(None, listing)},
            )
        ]
        for item in record.passes:
            before, nodes_before = listing, nodes
            if item.changed:
                listing, nodes = self._loop_listing(item.module, record, final), self._nodes(item.module)
            steps.append(
                Step(
                    group="lowering",
                    name=item.name,
                    detail=pass_words(item.name),
                    phase=item.phase,
                    listing=listing.key if listing else None,
                    changed=item.changed,
                    milliseconds=round(item.milliseconds, 3),
                    delta={"nodes": nodes - nodes_before, **(_line_delta(before, listing) if before else {})},
                )
            )
        return steps

    # schedule

    def _schedule_steps(self, record: UnitRecord) -> list[Step]:
        if record.schedule is None:
            return []
        steps = [
            Step(
                group="schedule",
                name="default",
                detail="the definition, not scheduled",
                line=self._watcher.schedule_lines.get(id(record.schedule)),
            )
        ]
        for index, primitive in enumerate(record.schedule.primitives):
            applied = index < record.primitives
            if applied or record.whole is not None:
                steps.append(
                    Step(
                        group="schedule",
                        name=primitive.name,
                        detail=primitive.label,
                        line=primitive.line if record.line else None,  # else the explorer itself asked for it
                        applied=applied,
                    )
                )
        return steps

    # LLVM

    def _text_steps(self, record: UnitRecord, final: FinalListing | None) -> list[Step]:
        steps = []
        for text in record.texts:
            known = self._texts.get(id(text))
            if known is None and self._may_print():
                known = self._texts[id(text)] = (text, self._text_listing(text, record, final))
            listing = self._keep(known[1]) if known else None
            group: Group = "llvm" if text.stage in LLVM_STEPS else "assembly"
            size = listing.summary.get("instructions", len(listing.lines)) if listing else None
            steps.append(
                Step(
                    group=group,
                    name=LLVM_STEPS.get(text.stage, text.stage),
                    listing=listing.key if listing else None,
                    milliseconds=round(text.milliseconds, 3),
                    delta={"instructions": int(size)} if size is not None else {},
                )
            )
        return steps

    def _text_listing(self, text: Any, record: UnitRecord, final: FinalListing | None) -> Listing:
        if text.stage in LLVM_STEPS:
            return from_llvm(text.text, record.name, final)
        return from_assembly(text.text, record.name, final, assembly_summary(text.text))


def _line_delta(before: Listing | None, after: Listing | None) -> dict[str, int]:
    """Return how many lines a step added, where both texts are there; the first adds all its lines."""
    if after is None:
        return {}
    return {"lines": len(after.lines) - (len(before.lines) if before else 0)}
