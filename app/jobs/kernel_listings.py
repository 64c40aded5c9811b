"""Adds the results of NVIDIA's compilers to an answer: listings, steps, occupancy, or why they are missing.

Compiler outputs are untrusted, like everything from children: this runs in a process of :mod:`app.workers`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.artifacts import Answer, Console, DeviceListing, Line, Listing, Region, Step, Unit, make_listing
from app.jobs.assembly import listing_excess
from app.kernel_reports import KernelReport
from app.machine_code import CompiledKernels
from compiler.target.cuda_tools import CONTROL_HEADING, CodeLine, CudaReport, report


def with_kernels(answer: Answer, compiled: Sequence[CompiledKernels]) -> Answer:
    """Add the compilation results of CUDA C programs to an answer."""
    if not compiled:
        return answer
    by_source = {kernels.program.source: kernels for kernels in compiled}
    listings = dict(answer.listings)
    notes = [Console("note", note) for kernels in compiled for note in _problems(kernels)]
    units = [_with_code(unit, listings, by_source, notes) for unit in answer.units]
    return msgspec.structs.replace(answer, units=units, listings=listings, console=[*answer.console, *notes])


def _problems(kernels: CompiledKernels) -> list[str]:
    """Describe why parts of a program's results are missing."""
    problems = (("PTX", kernels.code.problem), ("SASS", kernels.sass_problem))
    return [f"no {what} is shown: {problem}" for what, problem in problems if problem]


def _with_code(
    unit: Unit, listings: dict[str, Listing], by_source: dict[str, CompiledKernels], notes: list[Console]
) -> Unit:
    """Add steps and listings of machine code to a unit, after that of its source."""
    source = next((listings.get(step.listing or "") for step in unit.steps if step.group == "kernel"), None)
    kernels = by_source.get("".join(f"{line.text}\n" for line in source.lines)) if source is not None else None
    if source is None or kernels is None or not kernels.code.ptx:
        return unit
    program, code = kernels.program, kernels.code
    launches = unit.device.launches if unit.device is not None else []
    dynamic = {launch.name: launch.dynamic_bytes for launch in launches}
    made = report(program.source, program.arch, code.ptx, code.log, kernels.sass, dynamic)
    times = (code.milliseconds, kernels.sass_milliseconds)
    steps = list(unit.steps)
    for text, milliseconds in zip(compiled_listings(made, source), times, strict=False):
        if excess := listing_excess(text.listing, len(listings)):
            notes.append(Console("note", f"no {text.title} is shown: it is {excess}"))
            continue
        listings[text.listing.key] = text.listing
        steps.append(_step(text, milliseconds))
    device = _with_occupancy(unit.device, made) if unit.device is not None else None
    return msgspec.structs.replace(unit, steps=steps, device=device)


def _step(text: DeviceListing, milliseconds: float) -> Step:
    return Step(
        group=text.group,
        name=text.title,
        listing=text.listing.key,
        milliseconds=round(milliseconds, 3),
        delta={"instructions": int(text.listing.summary["instructions"])},
    )


def _with_occupancy(device: KernelReport, made: CudaReport) -> KernelReport:
    """Add the occupancy to the launches of a kernel report."""
    blocks = {kernel.name: kernel.occupancy.blocks for kernel in made.kernels if kernel.occupancy is not None}
    launches = [
        msgspec.structs.replace(launch, resident_blocks=blocks.get(launch.name, 0)) for launch in device.launches
    ]
    return msgspec.structs.replace(device, launches=launches)


def compiled_listings(report: CudaReport, source: Listing) -> list[DeviceListing]:
    """Create the listings of the code from NVIDIA's compilers.

    Parameters
    ----------
    source : Listing
        The program.
    """
    facts = resource_facts(report)
    return [
        DeviceListing(group, f"{title}, {report.arch}", from_device_code(lines, source, group, facts))
        for group, title, lines in (("ptx", "PTX", report.ptx), ("sass", "SASS", report.sass))
        if lines
    ]


def from_device_code(
    lines: Sequence[CodeLine], source: Listing, language: str, facts: dict[str, int | float | str]
) -> Listing:
    """Create the listing of PTX or SASS, whose instructions link to what their source lines link to.

    Parameters
    ----------
    source : Listing
        The program that they were compiled from.
    language : str
        ``ptx`` or ``sass``.
    facts : dict
        Statistics for the title.
    """
    made = [_code_line(line, source) for line in lines]
    first = next((at for at, line in enumerate(lines) if line.control is not None), None)
    if first is not None:
        made.insert(first, Line(f"    {CONTROL_HEADING}"))
    instructions = sum(line.is_instruction for line in lines)
    return make_listing("asm", source.name, language, made, {"instructions": instructions, **facts})


def _code_line(line: CodeLine, source: Listing) -> Line:
    text = line.text.expandtabs(4)
    if line.control is not None:
        text = f"    {line.control} {text.strip()}"
    number = line.source_line or 0
    origins = source.lines[number - 1].origins if 0 < number <= len(source.lines) else []
    start = len(text) - len(text.lstrip())
    return Line(text, origins, [Region(start, len(text), origins)] if origins else [])


def resource_facts(report: CudaReport) -> dict[str, int | float | str]:
    """Return registers, shared memory, spills and occupancy of the kernel with the most registers."""
    if not report.kernels:
        return {}
    kernel = max(report.kernels, key=lambda kernel: kernel.resources.registers)
    used = kernel.resources
    facts: dict[str, int | float | str] = {
        "registers": used.registers,
        "shared bytes": used.shared_bytes,
        "spilled bytes": used.spill_store_bytes + used.spill_load_bytes,
    }
    if kernel.occupancy is not None:
        limiters = " and ".join(kernel.occupancy.limiters)
        facts["occupancy"] = f"occupancy {kernel.occupancy.share:.0%}, limited by {limiters}"
    return facts
