"""Makes an answer out of what the watcher kept: listings, timelines, schedules, console."""

from __future__ import annotations

import time
from typing import Any

from app.artifacts import Answer, Group, Listing, Measurement, Options, Step, Unit
from app.recorder.listings import FinalListing, from_assembly, from_builder, from_llvm
from app.recorder.origins import OriginRows
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

    def __init__(self, watcher: Watcher, table: OriginTable, script: Script, options: Options) -> None:
        self._watcher = watcher
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
        self.measurements: list[Measurement] = []

    def snapshot(self, mode: str, environment: dict[str, str]) -> Answer:
        """Return all that was seen until now; ``listings`` holds only those that no earlier snapshot held."""
        units = [self._unit(record) for record in self._watcher.units]
        if self._watcher.left_out:
            self._script.transcript.note(
                f"{self._watcher.left_out} more functions were built; the first {len(units)} are shown"
            )
        fresh = {key: listing for key, listing in self._listings.items() if key not in self._sent}
        self._sent.update(fresh)
        return Answer(
            mode=mode,  # type: ignore[arg-type]
            status="timeout" if self._script.timed_out else "error" if self._script.problems else "ok",
            units=units,
            listings=fresh,
            origins=self._rows.rows(),
            console=self._script.transcript.finished(),
            problems=list(self._script.problems),
            measurements=list(self.measurements),
            milliseconds=(time.perf_counter() - self._began) * 1e3,
            environment=environment,
        )

    def _unit(self, record: UnitRecord) -> Unit:
        final = self._final(record)
        steps = [*self._schedule_steps(record), *self._lowering_steps(record, final), *self._text_steps(record, final)]
        return Unit(
            name=record.name,
            line=record.line,
            target=str(record.target or ""),
            built=record.built is not None,
            steps=steps,
            schedule=schedule_stages(record.source) if record.schedule is not None else [],
        )

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
            out = printer.script(module)
            known = self._finals[id(module)] = (module, FinalListing(out, record.name, self._rows, {}))
        self._keep(known[1].listing)
        return known[1]

    def _loop_listing(self, module: IRModule, record: UnitRecord, final: FinalListing | None) -> Listing:
        if final is not None and module is (record.final or record.lowered):
            return final.listing
        known = self._printed.get(id(module))
        if known is None:
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
        listing = self._loop_listing(record.first, record, final)
        steps = [
            Step(
                group="lowering",
                name="Loops",
                detail="the loop nest that the schedule describes",
                phase=0,
                listing=listing.key,
                delta={"lines": len(listing.lines), "nodes": self._nodes(record.first)},
            )
        ]
        before, before_nodes = listing, self._nodes(record.first)
        for item in record.passes:
            listing = self._loop_listing(item.module, record, final) if item.changed else before
            nodes = self._nodes(item.module) if item.changed else before_nodes
            steps.append(
                Step(
                    group="lowering",
                    name=item.name,
                    phase=item.phase,
                    listing=listing.key,
                    changed=item.changed,
                    milliseconds=round(item.milliseconds, 3),
                    delta={"lines": len(listing.lines) - len(before.lines), "nodes": nodes - before_nodes},
                )
            )
            before, before_nodes = listing, nodes
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
                        line=primitive.line,
                        applied=applied,
                    )
                )
        return steps

    # LLVM

    def _text_steps(self, record: UnitRecord, final: FinalListing | None) -> list[Step]:
        steps = []
        for text in record.texts:
            known = self._texts.get(id(text))
            if known is None:
                known = self._texts[id(text)] = (text, self._text_listing(text, record, final))
            listing = self._keep(known[1])
            group: Group = "llvm" if text.stage in LLVM_STEPS else "assembly"
            size = listing.summary.get("instructions", len(listing.lines))
            steps.append(
                Step(
                    group=group,
                    name=LLVM_STEPS.get(text.stage, text.stage),
                    listing=listing.key,
                    milliseconds=round(text.milliseconds, 3),
                    delta={"instructions": int(size)},
                )
            )
        return steps

    def _text_listing(self, text: Any, record: UnitRecord, final: FinalListing | None) -> Listing:
        if text.stage in LLVM_STEPS:
            return from_llvm(text.text, record.name, final)
        return from_assembly(text.text, record.name, final, assembly_summary(text.text))
