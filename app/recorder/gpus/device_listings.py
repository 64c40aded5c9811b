"""Listings of kernels: source linked to the loop IR, and the assembly of LLVM."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.artifacts import AssemblyFilter, DeviceListing, Line, Listing, Region, make_listing
from app.device_languages import DEVICE_LANGUAGES
from app.recorder.assembly_listing import from_assembly
from app.recorder.gpus.device_code import DeviceCode
from app.recorder.listings import FinalListing
from compiler.ir.printing.text import Line as PrintedLine
from compiler.ir.printing.text import TextBuilder

_PTX_FILTERS: tuple[AssemblyFilter, ...] = ("labels", "directives", "comments")
"""Filters for PTX, whose directives are kept, as they declare kernels, parameters and registers."""
_DEBUG_TARGET = re.compile(r"(?<=^\.target sm_)(\w+), debug$", re.M)
"""The debug flag of LLVM's ``.target`` directive, which listings omit."""


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
