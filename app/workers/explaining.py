"""What is known of a function, without its texts."""

from __future__ import annotations

import msgspec

from app.artifacts import Answer, Listing, Options, Unit
from app.errors import NotFound, Unbuildable
from app.instructions import describe_instructions
from app.panes.texts import find_text
from app.panes.throughput import loop_throughput, target_of
from app.workers.tasks import Explanation, HotLoop, LoopFigures
from compiler.ir.error import BuildError, TargetError, UnavailableError
from compiler.target.assembly_summary import assembly_summary
from compiler.target.cpu.throughput import analyse_loop
from compiler.target.loop_facts import loop_facts


def failed(answer: Answer) -> bool:
    """Return whether a script has an error."""
    return any(problem.severity == "error" for problem in answer.problems)


def explained(answer: Answer, function: str, options: Options) -> Explanation:
    """Return what is known of the function of a name, or of the one that was built last.

    Raises
    ------
    NotFound
        If there is none of that name.
    """
    unit = _unit(answer, function)
    assembly = _assembly(answer, unit, options) if unit is not None else None
    return Explanation(
        status=answer.status,
        problems=answer.problems,
        functions=[each.name for each in answer.units],
        function=_without_texts(unit) if unit is not None else None,
        hot_loop=_hot_loop(answer, assembly, options) if assembly is not None else None,
        instructions=describe_instructions([line.text for line in assembly.lines]) if assembly is not None else {},
        environment=answer.environment,
    )


def _unit(answer: Answer, name: str) -> Unit | None:
    named = [unit for unit in answer.units if name in ("", unit.name)]
    if not named and name:
        there = ", ".join(dict.fromkeys(unit.name for unit in answer.units)) or "none"
        raise NotFound(f"the script makes no function {name!r}; there are: {there}", field="function")
    return named[-1] if named else None


def _assembly(answer: Answer, unit: Unit, options: Options) -> Listing | None:
    try:
        return find_text(answer, options, "asm", unit.name)
    except (NotFound, Unbuildable):
        return None


def _hot_loop(answer: Answer, assembly: Listing, options: Options) -> HotLoop | None:
    loop = loop_throughput(answer, assembly, "", options.assembly)
    if loop is None or loop.throughput is None:
        return None
    ports = [(name, cycles) for name, cycles, _ in loop.ports]
    return HotLoop(cycles=loop.throughput.cycles, ports=ports)


def loop_figures(answer: Answer, listing: Listing, assembly: str) -> LoopFigures:
    """Return the figures of the hot loop of an assembly, made for the machine of a key."""
    if listing.language != "gas":
        return LoopFigures()
    text = "\n".join(line.text for line in listing.lines)
    if assembly_summary(text)["spills"] != (listing.loop_summary or listing.summary).get("spills", 0):
        return LoopFigures(reason="the filter hides spills, which take time too")
    try:
        target = target_of(answer, listing, assembly)
    except TargetError as error:
        return LoopFigures(reason=str(error))
    facts = loop_facts(text, target)
    if facts is None:
        return LoopFigures()
    figures = LoopFigures(
        instructions=len(facts.lines), vector_bits=facts.width, spills=facts.spills, work=facts.work, unit=facts.unit
    )
    try:
        model = analyse_loop(facts.lines, target.triple, target.cpu, target.llvm_features)
    except (BuildError, UnavailableError) as error:
        return msgspec.structs.replace(figures, reason=str(error))
    return msgspec.structs.replace(figures, cycles=model.cycles, processor=model.cpu)


def _without_texts(unit: Unit) -> Unit:
    steps = [msgspec.structs.replace(step, listing=None, drawing=None) for step in unit.steps]
    stages = [
        msgspec.structs.replace(stage, loops=[msgspec.structs.replace(loop, origins=[]) for loop in stage.loops])
        for stage in unit.schedule
    ]
    return msgspec.structs.replace(unit, steps=steps, schedule=stages)
