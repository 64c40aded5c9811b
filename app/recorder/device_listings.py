"""Listings of kernels: source linked to the loop IR, PTX and SASS linked by line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from app.artifacts import AssemblyFilter, Group, Line, Listing, Region
from app.recorder.assembly_listing import from_assembly
from app.recorder.device_code import DeviceCode
from app.recorder.listings import FinalListing, make_listing
from compiler.ir.text import Line as PrintedLine
from compiler.ir.text import TextBuilder
from compiler.target.cuda_tools import CodeLine, CudaReport
from compiler.target.device_languages import DEVICE_LANGUAGES

_PTX_FILTERS: tuple[AssemblyFilter, ...] = ("labels", "directives", "comments")
"""Filters for PTX, whose directives are kept, as they declare kernels, parameters and registers."""
_DEBUG_TARGET = re.compile(r"(?<=^\.target sm_)(\w+), debug$", re.M)
"""The debug flag of LLVM's ``.target`` directive, which listings omit."""


class DeviceListing(NamedTuple):
    """A listing of kernels, with its step."""

    group: Group
    title: str
    listing: Listing


def device_listings(code: DeviceCode, name: str, final: FinalListing | None) -> list[DeviceListing]:
    """Create the listings of a function's kernels: the source, followed by compiled code.

    Parameters
    ----------
    name : str
        The function's.
    final : FinalListing, optional
        The loop IR of the kernels.
    """
    title = DEVICE_LANGUAGES[code.kind]
    filters: Sequence[AssemblyFilter] = () if code.kind == "rocm" else _PTX_FILTERS
    text = _DEBUG_TARGET.sub(r"\1", code.assembly)
    assembly = [from_assembly(text, name, final, {}, filters)] if text else []
    if code.source is None:
        return [DeviceListing("kernel", title, listing) for listing in assembly]
    source = from_source(code.source, name, code.kind, final)
    listings = [DeviceListing("kernel", title, source)]
    listings += [DeviceListing("ptx", f"PTX by LLVM, {code.arch}", listing) for listing in assembly]
    return listings


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


def from_source(printed: TextBuilder, name: str, language: str, final: FinalListing | None) -> Listing:
    """Create the listing of device source, linked to the loop IR node by node.

    Nodes that code generation created link to the lines of the script from which they originate.
    """
    return make_listing("llvm", name, language, [_linked(line, final) for line in printed.lines], {})


def _linked(line: PrintedLine, final: FinalListing | None) -> Line:
    regions = []
    nodes = [region.node for region in line.regions]
    rows = final.rows_of(nodes) if final is not None else [None] * len(nodes)
    for region, row in zip(line.regions, rows, strict=True):
        origins = [row] if row is not None else sorted(region.node.span)
        if origins:
            regions.append(Region(region.start, region.end, origins))
    return Line(line.text, sorted({origin for region in regions for origin in region.origins}), regions)


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
    instructions = sum(line.is_instruction for line in lines)
    return make_listing("asm", source.name, language, made, {"instructions": instructions, **facts})


def _code_line(line: CodeLine, source: Listing) -> Line:
    text = line.text.expandtabs(4)
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
