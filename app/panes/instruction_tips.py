"""What the instructions of a listing do, what they cost on its processor, and which buffers they access."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from app.artifacts import Answer, Line, Listing
from app.instructions import Tip, set_of, tip_of
from app.panes.throughput import target_of
from compiler.ir.error import BuildError, TargetError, UnavailableError
from compiler.target.cpu.cpus import TRIPLES
from compiler.target.cpu.throughput import Timing, instruction_timings
from compiler.target.cuda_tools import PROCESSORS, Processor

MAX_LISTED_PORTS = 5
WARP = 32
"""Threads that run an instruction together."""
_FLOATS = re.compile(
    r"(?:(?P<single>F)|D)(?:FMA|ADD|MUL)(?:\.(?:RM|RN|RP|RZ|FTZ|SAT))*"
    r"|(?:fma|add|sub|mul)(?:\.r[nzmp])?(?:\.ftz)?(?:\.sat)?\.f(?:(?P<narrow>32)|64)"
)
_ARCH = re.compile(r"\bsm_\d+")
_ACCESS = re.compile(r"memory: ")
_ELSEWHERE = re.compile(r"on the stack|beside the code")
_BUFFER = re.compile(r"([A-Za-z_][\w.]*)\[")


def instruction_tips(answer: Answer, listing: Listing, assembly: str, start: int, stop: int) -> list[Tip | None]:
    """Return the tip of each of the lines ``[start, stop)``; None for one without an instruction that is known.

    Parameters
    ----------
    answer : Answer
        Says what the listing was made for, and what its lines come from.
    assembly : str
        Key of the assembly's target.
    """
    instructions = set_of(listing.language, [line.text for line in listing.lines])
    lines = listing.lines[start:stop]
    tips = [tip_of(line.text, instructions) for line in lines]
    labels = {origin.id: origin.label for origin in answer.origins}
    tips = [_with_buffer(tip, line, labels) for tip, line in zip(tips, lines, strict=True)]
    if instructions not in TRIPLES:
        processor = _gpu(answer, listing)
        return [_with_rate(tip, *processor) if tip is not None and processor else tip for tip in tips]
    timed = [at for at, tip in enumerate(tips) if tip is not None]
    said = _timed(answer, listing, assembly, tuple(lines[at].text.strip() for at in timed))
    for at, words in zip(timed, said, strict=True):
        tips[at] = msgspec.structs.replace(tips[at], timing=words)  # type: ignore[type-var]
    return tips


def _gpu(answer: Answer, listing: Listing) -> tuple[str, Processor] | None:
    """Return the architecture that PTX or SASS is for, with its resources, if they are known."""
    titles = (step.name for unit in answer.units for step in unit.steps if step.listing == listing.key)
    arch = next((match[0] for title in titles if (match := _ARCH.search(title))), "")
    return (arch, PROCESSORS[arch]) if arch in PROCESSORS else None


def _with_rate(tip: Tip, arch: str, processor: Processor) -> Tip:
    """Say how often a multiprocessor begins an instruction of floating point, where the data sheet says so."""
    match = _FLOATS.fullmatch(tip.name)
    lanes = 0 if match is None else processor.float32 if match["single"] or match["narrow"] else processor.float64
    if not lanes:
        return tip
    warps = lanes / WARP
    rate = (
        f"{warps:g} warps each cycle"
        if warps > 1
        else f"a warp every {f'{1 / warps:g} cycles' if warps < 1 else 'cycle'}"
    )
    return msgspec.structs.replace(tip, timing=f"A multiprocessor of {arch} begins {rate}: {lanes} threads.")


def _timed(answer: Answer, listing: Listing, assembly: str, texts: tuple[str, ...]) -> list[str]:
    """Return sentences on the costs of instructions, or why there are none."""
    try:
        target = target_of(answer, listing, assembly)
        timings = _timings(texts, target.triple, target.cpu, target.llvm_features)
    except UnavailableError as missing:
        return [f"No latency is shown: {missing}"] * len(texts)
    except (BuildError, TargetError):
        return [""] * len(texts)
    return [timing_words(timing, target.cpu) if timing is not None else "" for timing in timings]


@lru_cache(100)
def _timings(texts: tuple[str, ...], triple: str, cpu: str, features: str) -> list[Timing | None]:
    distinct = list(dict.fromkeys(texts))
    found = dict(zip(distinct, instruction_timings(distinct, triple, cpu, features), strict=True))
    return [found[text] for text in texts]


def timing_words(timing: Timing, asked: str) -> str:
    """Return a sentence on the cost of an instruction.

    Parameters
    ----------
    asked : str
        The processor that was asked for.
    """
    words = [f"Latency {timing.latency} cycle{'s' * (timing.latency != 1)}"]
    if timing.cycles:
        rate = 1 / timing.cycles
        words.append(f"{rate:.3g} each cycle" if rate >= 1 else f"one every {timing.cycles:.3g} cycles")
    words.append(f"{timing.micro_operations} micro-operation{'s' * (timing.micro_operations != 1)}")
    ports = [port.name for port in timing.ports[:MAX_LISTED_PORTS]]
    if ports:
        words.append(f"on {', '.join(ports)}{' and others' if len(timing.ports) > len(ports) else ''}")
    model = timing.cpu if timing.cpu == asked or not asked else f"{timing.cpu}, the nearest to {asked}"
    return f"{', '.join(words)}. LLVM’s model of {model}, with data in the nearest cache."


def _with_buffer(tip: Tip | None, line: Line, labels: Mapping[int, str]) -> Tip | None:
    """Name the buffer that a memory operand belongs to, if the line comes from one access of the loop IR."""
    if tip is None or not line.origins or not any(_ACCESS.search(words) for _, words in tip.operands):
        return tip
    operands = []
    for text, words in tip.operands:
        name = _buffer([labels.get(origin, "") for origin in line.origins], words)
        operands.append((text, f"{words}, of {name}" if name else words))
    return msgspec.structs.replace(tip, operands=operands)


def _buffer(labels: Sequence[str], words: str) -> str:
    """Return the one buffer that all of a line's origins read or write; empty if there is none, or another memory."""
    if not _ACCESS.search(words) or _ELSEWHERE.search(words):
        return ""
    names = {_accessed(label) for label in labels}
    return names.pop() if len(names) == 1 else ""


def _accessed(label: str) -> str:
    """Return the buffer of a label that is one access, ``A[i]`` or ``A[i] = …``; empty for another expression."""
    match = _BUFFER.match(label)
    if match is None:
        return ""
    depth = 0
    for at, letter in enumerate(label[match.end() - 1 :], match.end() - 1):
        depth += (letter == "[") - (letter == "]")
        if not depth:
            rest = label[at + 1 :]
            return match[1] if not rest or rest.startswith(" = ") else ""
    return ""
