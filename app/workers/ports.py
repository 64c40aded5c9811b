"""Whether an execution port limits a hot loop because of instructions that do none of its work."""

from __future__ import annotations

from collections import Counter, defaultdict

from app.causes import Cause, LoopCode
from app.workers.tasks import PortCause
from compiler.ir.error import BuildError, UnavailableError
from compiler.target.cpu.throughput import SATURATED, Throughput, analyse_loop

LEAST = 0.02
"""The share of the time below which a cause is not mentioned."""
NAMED = 3
"""How many mnemonics are named."""


def port_cause(loop: LoopCode) -> PortCause:
    """Return what a busy port costs: the loop's cycles less those without the instructions that do no work on it."""
    try:
        model = _model(loop, loop.lines)
        port, busy, spare = _limit(loop, model)
        if not spare or busy < SATURATED * model.cycles:
            return PortCause()
        left_out = set(spare)
        rest = _model(loop, [line for at, line in enumerate(loop.lines) if at not in left_out])
    except (BuildError, UnavailableError) as error:
        return PortCause(unknown=f"ports: {error}")
    share = 1 - loop.cycles(rest.cycles / model.cycles) / loop.cycles(1.0)
    if share < LEAST:
        return PortCause()
    often = Counter(loop.lines[at].split()[0] for at in spare)
    names = ", ".join(mnemonic for mnemonic, _ in often.most_common(NAMED))
    words = (
        f"{port} is busy for {busy:.3g} of the {model.cycles:.3g} cycles of the hot loop, {sum(spare.values()):.3g} of "
        f"them with {len(spare)} instructions that only bring values into place, such as {names}; by LLVM's model of "
        f"{model.cpu}"
    )
    share = min(share, 1.0)
    return PortCause(cause=Cause(kind="ports", words=words, share=share, source="assembly", gain=1 / (1 - share)))


def _model(loop: LoopCode, lines: list[str]) -> Throughput:
    return analyse_loop(lines, loop.triple, loop.cpu, loop.features)


def _limit(loop: LoopCode, model: Throughput) -> tuple[str, float, dict[int, float]]:
    """Return the busiest port, its cycles, and those of each of the loop's instructions there that do no work."""
    by_port: dict[str, dict[int, float]] = defaultdict(dict)
    for at, port, cycles in model.usages:
        if at < len(loop.lines):  # the last row is the sum
            by_port[port][at] = cycles
    if not by_port:
        return "", 0.0, {}
    port = max(by_port, key=lambda name: sum(by_port[name].values()))
    uses = by_port[port]
    spare = {at: uses[at] for at in loop.spare if at in uses}
    return port.partition(" ")[2], sum(uses.values()), spare
