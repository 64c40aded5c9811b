"""The predicted throughput of a hot loop, next to its control flow."""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.artifacts import Answer, Listing
from app.panes.cycles import MeasuredCall, MeasuredLoop, measured_loop
from compiler.ir.error import BuildError, TargetError, UnavailableError
from compiler.target.assembly_targets import HOST, assembly_target
from compiler.target.control_flow import control_flow, hot_loop
from compiler.target.cpu.throughput import Throughput, analyse_loop
from compiler.target.instruction_kinds import INSTRUCTION
from compiler.target.target import Target

__all__ = ["LoopThroughput", "loop_throughput", "target_of"]

_INSTRUCTION = re.compile(INSTRUCTION)
MAX_PORTS = 12
"""Ports that are shown, the busiest first."""


@dataclass(frozen=True)
class LoopThroughput:
    """What LLVM's model says of a loop, or why it says nothing."""

    throughput: Throughput | None = None
    reason: str = ""
    measured: MeasuredLoop | None = None

    @property
    def ports(self) -> list[tuple[str, float, float]]:
        """Name of each port, its cycles an iteration, and the share of the time in which it is busy."""
        if self.throughput is None:
            return []
        cycles = self.throughput.cycles
        return [(port.name, port.cycles, min(1.0, port.cycles / cycles)) for port in self.throughput.ports[:MAX_PORTS]]


def loop_throughput(
    answer: Answer, listing: Listing, function: str, assembly: str, call: MeasuredCall | None = None
) -> LoopThroughput | None:
    """Return the throughput of the hot loop of a function.

    Parameters
    ----------
    answer : Answer
        Says what target the listing was made for.
    listing : Listing
        Assembly.
    function : str
        By default, and where none has that name, the one with the deepest loop.
    assembly : str
        Key of the assembly's target.
    call : MeasuredCall, optional
        What was measured of the function.

    Returns
    -------
    LoopThroughput or None
        None if nothing loops, or the text is not an assembly.
    """
    if listing.language != "gas":
        return None
    texts = [line.text for line in listing.lines]
    graphs = control_flow(texts, listing.language)
    graph = next((graph for graph in graphs if graph.function == function), None) or hot_loop(graphs)
    if graph is None or not graph.depth:
        return None
    lines = [texts[line] for line in graph.hot_lines if _INSTRUCTION.match(texts[line])]
    try:
        target = target_of(answer, listing, assembly)
        throughput = analyse_loop(lines, target.triple, target.cpu, target.llvm_features)
    except (BuildError, TargetError, UnavailableError) as error:
        return LoopThroughput(reason=str(error))
    measured = measured_loop(call, lines, throughput.cycles) if call is not None else None
    return LoopThroughput(throughput, measured=measured)


def target_of(answer: Answer, listing: Listing, assembly: str) -> Target:
    """Return what an assembly was made for: where no other machine was chosen, what its function was built for.

    Raises
    ------
    TargetError
        If the script names a target that does not exist.
    """
    other = assembly_target(assembly) if assembly != HOST else None
    if other is not None:
        return other.target
    units = (unit for unit in answer.units if any(step.listing == listing.key for step in unit.steps))
    return Target(next((unit.target for unit in units if unit.target), "llvm -mcpu=native"))
