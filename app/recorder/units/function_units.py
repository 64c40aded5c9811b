"""Builds the units of functions: steps of schedule, lowering, LLVM and assembly, with their listings."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from app.artifacts import (
    AssemblyFilter,
    DeviceListing,
    Group,
    Layout,
    Line,
    Listing,
    Region,
    SplitLoop,
    Stage,
    Step,
    Unit,
    make_listing,
)
from app.recorder.assembly_listing import from_assembly
from app.recorder.gpus.device_code import DeviceCode
from app.recorder.gpus.device_listings import device_listings
from app.recorder.listings import FinalListing, from_builder, from_drawing, from_llvm
from app.recorder.origins import OriginRows
from app.recorder.printing import ArtifactPrinter, Memo
from app.recorder.scripts.failures import brief, clean
from app.recorder.units.block_tree import block_stages, split_blocks
from app.recorder.units.layouts import MAX_LAYOUTS, block_layouts, schedule_layouts
from app.recorder.units.pass_summary import pass_summary
from app.recorder.units.schedule_tree import LoopRows, extents_of, schedule_stages, split_loops
from app.recorder.units.schedules import BlockSchedule, PrimitiveRecord, ScheduleRecord
from app.recorder.units.subjects import CodeRecord, FunctionSubject
from app.recorder.units.tile_registers import tile_layouts
from compiler.ir.error import TVMError
from compiler.ir.functor import Visitor
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.target.codegen.llvm import assembly_summary
from compiler.target.codegen.llvm.tracing.pass_trace import PassRun
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.printing import printer
from compiler.tir.schedule.error import ScheduleError

MAX_PROGRAM_LINES = 30_000
"""The maximum number of lines of programs after primitives, counted from the last."""
MAX_LLVM_LINES = 60_000
"""The maximum number of lines of modules after LLVM passes; later ones are not shown."""
LLVM_STEPS = {"emitted": "as emitted", "optimised": "optimised", "c": "C source code"}


class FunctionUnits:
    """Converts functions to units, each once.

    Parameters
    ----------
    rows : OriginRows
        The rows, to which the final loop IR adds one per node.
    filters : collection of str
        The assembly filters.
    """

    def __init__(self, printing: ArtifactPrinter, rows: OriginRows, filters: Collection[AssemblyFilter] = ()) -> None:
        self._printing = printing
        self._rows = rows
        self._filters = filters
        self._loops: Memo[Listing] = Memo()
        self._finals: Memo[FinalListing] = Memo()
        self._codes: Memo[Listing] = Memo()
        self._drawn: Memo[Listing] = Memo()
        self._traced: Memo[Listing] = Memo()
        self._devices: Memo[list[DeviceListing]] = Memo()
        self._todays: Memo[Listing] = Memo()
        self._node_counts: Memo[int] = Memo()

    def unit(self, function: FunctionSubject) -> Unit:
        """Build the unit of a function."""
        final = self._final(function)
        codes = self._code_steps(function, final)  # first, as they matter most if time is short
        lowering = self._lowering_steps(function, final)
        stages, splits = _stages(function, final.loop_rows if final else None)
        return Unit(
            name=function.name,
            line=function.line,
            target=str(function.target or ""),
            built=function.built is not None,
            steps=[*self._schedule_steps(function), *lowering, *codes, *self._program_steps(function)],
            schedule=stages,
            layouts=_layouts(function),
            splits=splits,
            device=function.report,
        )

    # schedule

    def _schedule_steps(self, function: FunctionSubject) -> list[Step]:
        schedule = function.schedule
        if schedule is None:
            return []
        shown = _shown_primitives(schedule, function)
        initial, *programs = self._programs(schedule, shown, function)
        first = Step(
            group="schedule",
            name="default",
            detail="unscheduled definition",
            line=schedule.line,
            listing=initial.key if initial else None,
            delta=_line_delta(None, initial),
        )
        steps = [first]
        for (primitive, applied), before, after in zip(shown, [initial, *programs], programs, strict=False):
            # Without a line, the explorer itself asked for the function.
            line = primitive.line if function.line or primitive.module else None
            steps.append(_primitive_step(primitive, line, applied, before, after))
        return steps

    def _programs(
        self, schedule: ScheduleRecord, shown: list[tuple[PrimitiveRecord, bool]], function: FunctionSubject
    ) -> list[Listing | None]:
        """Print the program before the first primitive and after each, within the limit on lines.

        Programs after applied primitives have priority, starting with the last one.
        """
        steps = [(schedule.initial, None), *((primitive.module, primitive.error) for primitive, _ in shown)]
        chosen = [True, *(applied or primitive.error is not None for primitive, applied in shown)]
        listings: list[Listing | None] = [None] * len(steps)
        room = MAX_PROGRAM_LINES
        for index in sorted(range(len(steps)), key=lambda index: (chosen[index], index), reverse=True):
            listing = listings[index] = self._program(*steps[index], function)
            room -= len(listing.lines) if listing else 0
            if room <= 0:
                break
        return listings

    def _program(self, module: IRModule | None, error: TVMError | None, function: FunctionSubject) -> Listing | None:
        """Print the program after a primitive, or the one with the error of a rejected primitive."""
        if not isinstance(error, ScheduleError) or not error.drawing:
            return self._program_listing(module, function)
        drawn = self._printing.once(self._drawn, error, partial(from_drawing, error.drawing, function.name))
        return self._printing.keep(drawn) if drawn is not None else None

    def _program_listing(self, module: IRModule | None, function: FunctionSubject) -> Listing | None:
        """Print a TensorIR program; None for tensor expressions."""
        if module is None:
            return None
        listing = self._printing.once(
            self._loops, module, lambda: from_builder(printer.script(module), function.name, {})
        )
        return self._printing.keep(listing) if listing is not None else None

    # loop IR

    def _final(self, function: FunctionSubject) -> FinalListing | None:
        """Print the final loop IR, the input of code generation."""
        module = function.final or function.lowered
        if module is None:
            return None
        final = self._printing.once(
            self._finals, module, lambda: FinalListing(printer.script(module), function.name, self._rows, {})
        )
        if final is not None:
            self._printing.keep(final.listing)
        return final

    def _loop_listing(self, module: IRModule, function: FunctionSubject, final: FinalListing | None) -> Listing | None:
        if final is not None and module is (function.final or function.lowered):
            return final.listing
        return self._program_listing(module, function)

    def _nodes(self, module: IRModule) -> int:
        return self._node_counts.make(module, lambda: count_nodes(module))

    def _lowering_steps(self, function: FunctionSubject, final: FinalListing | None) -> list[Step]:
        if function.first is None:
            return []
        listing, nodes = self._loop_listing(function.first, function, final), self._nodes(function.first)
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
        for record in function.passes:
            before, nodes_before = listing, nodes
            if record.changed:
                listing, nodes = self._loop_listing(record.module, function, final), self._nodes(record.module)
            steps.append(
                Step(
                    group="lowering",
                    name=record.name,
                    detail=pass_summary(record.name),
                    phase=record.phase,
                    listing=listing.key if listing else None,
                    changed=record.changed,
                    milliseconds=round(record.milliseconds, 3),
                    delta={"nodes": nodes - nodes_before, **(_line_delta(before, listing) if before else {})},
                )
            )
        return steps

    # LLVM IR and assembly

    def _code_steps(self, function: FunctionSubject, final: FinalListing | None) -> list[Step]:
        if function.device is not None:
            return self._device_steps(function.device, function.name, final)
        if (refused := function.refused_device) is not None:
            return [Step(group="kernel", name=refused.title, applied=False, refused=refused.reason)]
        steps: list[Step] = []
        for code in function.codes:
            if code.form == "optimised":
                steps += self._llvm_pass_steps(function, final, steps[-1].listing if steps else None)
            listing = self._code_listing(code, function.name, final)
            group: Group = "llvm" if code.form in LLVM_STEPS else "assembly"
            steps.append(
                Step(
                    group=group,
                    name=LLVM_STEPS.get(code.form, code.form),
                    listing=listing.key if listing else None,
                    milliseconds=round(code.milliseconds, 3),
                    delta=_size(listing) if listing else {},
                )
            )
        return steps

    def _device_steps(self, code: DeviceCode, name: str, final: FinalListing | None) -> list[Step]:
        """Build a step for each listing of a function's kernels."""
        made = self._printing.once(self._devices, code, lambda: device_listings(code, name, final))
        return [
            Step(
                group=group,
                name=title,
                listing=self._printing.keep(listing).key,
                milliseconds=round(code.milliseconds.get(group, 0.0), 3),
                delta=_size(listing),
            )
            for group, title, listing in made or ()
        ]

    def _program_steps(self, function: FunctionSubject) -> list[Step]:
        """Build the step of a function's program for TVM 0.27."""
        program = function.todays_program
        made = self._printing.once(self._todays, program, lambda: self._program_of_today(function)) if program else None
        if made is None:
            return []
        listing = self._printing.keep(made)
        return [Step(group="tvm", name="TVM 0.27", listing=listing.key, delta=_size(listing))]

    def _program_of_today(self, function: FunctionSubject) -> Listing:
        lines = []
        for text, span, number in function.todays_program or ():
            ids = sorted(span)
            if not ids and number is not None:
                ids = [self._rows.mint("source", text, number, 1, [])]
            lines.append(Line(text, ids, [Region(len(text) - len(text.lstrip()), len(text), ids)] if ids else []))
        return make_listing("loop", function.name, "python", lines, {})

    def _llvm_pass_steps(
        self, function: FunctionSubject, final: FinalListing | None, emitted: str | None
    ) -> Iterator[Step]:
        """Yield a step for each LLVM pass; one without effect repeats the previous listing."""
        room = MAX_LLVM_LINES
        shown, instructions = emitted, None
        for run in function.llvm_passes:
            if run.text is not None:
                listing = self._llvm_listing(run, run.text, function.name, final) if room > 0 else None
                shown = listing.key if listing else None
                room -= len(listing.lines) if listing else 0
                instructions = listing.summary["instructions"] if listing else None
            yield Step(
                group="llvm",
                name=run.name,
                detail=f"{run.summary or 'A pass of LLVM'} (on {run.place})",
                listing=shown,
                changed=run.text is not None,
                delta={"instructions": int(instructions)} if instructions is not None else {},
            )

    def _llvm_listing(self, run: PassRun, text: str, name: str, final: FinalListing | None) -> Listing | None:
        listing = self._printing.once(self._traced, run, lambda: from_llvm(text, name, final))
        return self._printing.keep(listing) if listing is not None else None

    def _code_listing(self, code: CodeRecord, name: str, final: FinalListing | None) -> Listing | None:
        def make() -> Listing:
            if code.printed is not None:
                return from_builder(code.printed, name, {}, "llvm", code.form)
            if code.form in LLVM_STEPS:
                return from_llvm(code.text, name, final)
            return from_assembly(code.text, name, final, assembly_summary(code.text), self._filters, code.target)

        listing = self._printing.once(self._codes, code, make)
        return self._printing.keep(listing) if listing is not None else None


class _NodeCount(Visitor):
    def __init__(self) -> None:
        self.nodes = 0

    def visit_Node(self, n: Node) -> None:
        self.nodes += 1
        Visitor.visit_Node(self, n)


def count_nodes(module: IRModule) -> int:
    """Count the statements and expressions of a module."""
    count = _NodeCount()
    for _, func in module.items():
        count.visit(func.body)
    return count.nodes


def _stages(function: FunctionSubject, loop_rows: LoopRows | None) -> tuple[list[Stage], list[SplitLoop]]:
    """Return the stages of a schedule of tensor expressions, or the blocks of a program, and the loops it splits."""
    if isinstance(function.source, Schedule):
        extents = extents_of(function.source)
        return schedule_stages(function.source, loop_rows, extents), split_loops(function.source, extents)
    blocks = block_stages(function.first, loop_rows) if function.first is not None else []
    return blocks, split_blocks(function.schedule) if isinstance(function.schedule, BlockSchedule) else []


def _layouts(function: FunctionSubject) -> list[Layout]:
    """Return the layouts of buffers that the schedule or the program changes, and of tile registers."""
    if isinstance(function.source, Schedule):
        made = schedule_layouts(function.source)
    else:
        made = block_layouts(function.first) if function.first is not None else []
    tiles = tile_layouts(function.final, function.target) if function.final and function.target else []
    return [*made, *tiles][:MAX_LAYOUTS]


def _shown_primitives(schedule: ScheduleRecord, function: FunctionSubject) -> list[tuple[PrimitiveRecord, bool]]:
    """Return the primitives in the timeline of a function, and whether each is applied."""
    shown, done = [], 0
    for primitive in schedule.primitives:
        done += primitive.error is None
        if done <= function.primitives or function.is_prefix:
            shown.append((primitive, primitive.error is None and done <= function.primitives))
    return shown


def _primitive_step(
    primitive: PrimitiveRecord, line: int | None, applied: bool, before: Listing | None, after: Listing | None
) -> Step:
    return Step(
        group="schedule",
        name=primitive.name,
        detail=primitive.label,
        line=line,
        applied=applied,
        refused=_reason(primitive.error) if primitive.error else "",
        listing=after.key if after else None,
        delta=_line_delta(before, after),
    )


def _reason(error: TVMError) -> str:
    """Return the first sentence of a primitive's error, without further conditions."""
    return clean(brief(error).partition("\n")[0])


def _line_delta(before: Listing | None, after: Listing | None) -> dict[str, int]:
    """Return the number of lines that a step added, if both listings exist."""
    if after is None:
        return {}
    return {"lines": len(after.lines) - (len(before.lines) if before else 0)}


def _size(listing: Listing) -> dict[str, int]:
    """Return the size of code, in instructions if it has any, otherwise in lines."""
    instructions = listing.summary.get("instructions")
    return {"lines": len(listing.lines)} if instructions is None else {"instructions": int(instructions)}
