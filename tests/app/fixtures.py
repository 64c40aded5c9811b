"""A hand-made answer with all that the page can show, and a runner that gives it without compiling anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from app.artifacts import (
    Answer,
    Console,
    Hint,
    Line,
    Listing,
    Loop,
    Measurement,
    Origin,
    Problem,
    Region,
    Stage,
    Step,
    Unit,
    listing_key,
)
from app.protocol import Request, Snapshot
from app.sandbox import Job, Limits, Outcome, SandboxError, Tier

LOOP_TEXT = """\
@I.ir_module
class Module:
    @T.prim_func
    def matmul(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
        for i_outer in T.parallel(2):
            for j_outer in range(2):
                C[i_outer * 32] = T.Broadcast(T.float32(0.0), 32)
                C[i_outer * 32] = C[i_outer * 32] + A[i_outer] * B[j_outer]"""
LLVM_TEXT = """\
define void @matmul(ptr %A, ptr %B) {
entry:
  %0 = load <32 x float>, ptr %A, align 64
  %1 = tail call <32 x float> @llvm.fmuladd.v32f32(<32 x float> %0, <32 x float> %0, <32 x float> %0)
  store <32 x float> %1, ptr %B, align 64
  ret void
}"""
ASM_TEXT = """\
matmul:
    vmovaps   (%rdi), %zmm0
    vfmadd231ps   %zmm0, %zmm0, %zmm0
    vmovaps   %zmm0, (%rsi)
    retq"""


def listing(level: str, language: str, text: str, links: Mapping[int, list[int]], **summary: int) -> Listing:
    """Return a listing; ``links`` gives the origins of 1-based lines."""
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        origins = links.get(number, [])
        lines.append(Line(line, origins, [Region(0, len(line), origins)] if origins else []))
    made = Listing(
        key="",
        level=level,  # type: ignore[arg-type]
        name="matmul",
        language=language,  # type: ignore[arg-type]
        lines=lines,
        summary=dict(summary),
        linked=len(links) / len(lines),
    )
    return msgspec.structs.replace(made, key=listing_key(made))


def full_answer(error: Problem | None = None) -> Answer:
    """Return an answer of one function with its timeline, links, console and a measurement."""
    origins = [
        Origin(0, "source", "C.split(i, factor=32)", line=3),
        Origin(1, "source", "te.compute", line=2),
        Origin(2, "loop", "for i_outer", line=5, column=9, parents=[0]),
        Origin(3, "loop", "C[...] = ...", line=8, column=17, parents=[1]),
    ]
    before = listing("loop", "python", LOOP_TEXT.replace("T.parallel(2)", "range(2)"), {5: [0], 7: [1], 8: [1]})
    after = listing("loop", "python", LOOP_TEXT, {5: [2], 7: [3], 8: [3]})
    emitted = listing("llvm", "llvm", LLVM_TEXT.replace("tail call", "call"), {3: [3], 4: [3], 5: [3]}, instructions=5)
    optimised = listing("llvm", "llvm", LLVM_TEXT, {3: [3], 4: [3], 5: [3]}, instructions=4)
    assembly = listing("asm", "gas", ASM_TEXT, {2: [3], 3: [3], 4: [3]}, fma=1, spills=0)
    steps = [
        Step(group="schedule", name="default", line=2),
        Step(group="schedule", name="split", detail="C.split(i, factor=32)", line=3),
        Step(group="schedule", name="parallel", detail="C.parallel(i_outer)", line=4),
        Step(group="lowering", name="Loops", phase=0, listing=before.key, delta={"lines": 8}),
        Step(group="lowering", name="Simplify", phase=2, listing=before.key, changed=False, milliseconds=0.4),
        Step(group="lowering", name="LowerParallel", phase=3, listing=after.key, delta={"lines": 0}, milliseconds=0.2),
        Step(group="llvm", name="as emitted", listing=emitted.key, delta={"instructions": 5}),
        Step(group="llvm", name="optimised", listing=optimised.key, delta={"instructions": 4}),
        Step(group="assembly", name="host", listing=assembly.key, delta={"instructions": 4}),
    ]
    loops = [
        Loop(name="i_outer", extent="2", kind="spatial", annotation="parallel", origins=[0], depth=0),
        Loop(name="k", extent="64", kind="reduce", depth=1),
    ]
    stage = Stage(name="C", placement="root", loops=loops, body="C[i, j] += A[i, k] * B[k, j]", origins=[1])
    return Answer(
        status="error" if error else "ok",
        units=[Unit(name="matmul", line=5, target="llvm", built=True, steps=steps, schedule=[stage])],
        listings={text.key: text for text in (before, after, emitted, optimised, assembly)},
        origins=origins,
        console=[Console("stdout", "hello <script>alert(1)</script>\n"), Console("note", "one timed call")],
        problems=[error] if error else [],
        hints=[Hint(3, "(64) float32")],
        measurements=[Measurement(name="matmul", kind="kernel", seconds=0.001, repeats=5, gflops=12.5, checked="ok")],
        milliseconds=96.0,
        environment={"cpu": "Test CPU"},
    )


class _Job:
    machine = None

    def __init__(self, messages: list[bytes]) -> None:
        self._messages = messages

    def messages(self) -> Iterator[bytes]:
        yield from self._messages

    @property
    def outcome(self) -> Outcome:
        return Outcome(status="ok")

    def interrupt(self) -> None:
        self._messages = []

    cancel = interrupt


class FixedRunner:
    """Answers every script alike; scripts that say ``raise`` fail at the line that says it."""

    tier = Tier()

    def start(self, request: bytes, files: Mapping[str, bytes] | None = None, limits: Limits | None = None) -> Job:
        asked = msgspec.json.decode(request, type=Request)
        failing = next((n for n, line in enumerate(asked.script.splitlines(), 1) if line.startswith("raise")), None)
        answer = full_answer()
        if failing is not None:
            problem = Problem(kind="ValueError", message="split: factor must be positive", line=failing, column=0)
            answer = Answer(status="error", problems=[problem], milliseconds=3.0)
        return self.job(msgspec.json.encode(Snapshot(answer=msgspec.structs.replace(answer, mode=asked.mode))))

    def job(self, *messages: bytes) -> Job:
        """Return a job that sends these messages."""
        return _Job(list(messages))

    def close(self) -> None:
        """Nothing to end."""


class AnswerRunner(FixedRunner):
    """Gives one answer to every script, and no sandbox to those that say ``refuse``."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def start(self, request: bytes, files: Mapping[str, bytes] | None = None, limits: Limits | None = None) -> Job:
        if b"refuse" in request:
            raise SandboxError("no process")
        return self.job(msgspec.json.encode(Snapshot(answer=self._answer)))
