"""A runner that answers as if each script were a program that takes some time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from app.artifacts import Measurement, Problem
from app.protocol import Failed, Measured, Message, ProgramDefinition, RecordedFunction, Request
from app.sandbox import Limits
from compiler.runtime.machine import this_machine
from tests.app.runners import Script, ScriptedJob, ScriptedRunner, snapshot

CPU = this_machine().processor
DEFINED = "float32[512, 512], float32[512, 512], float32[512, 512]: a"


class Contestants(ScriptedRunner):
    """Answers as if each script were the program of a time, on machines that tests may disturb."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: dict[str, float] = {}
        self.busy = False
        self.refused: dict[str, str] = {}
        """Why a batch refuses programs."""
        self.cpu = CPU
        self.batches_on: list[str] = []
        """The processors of the next batches, if they are others."""

    def start(
        self, request: bytes, files: Mapping[str, bytes] | None = None, limits: Limits | None = None
    ) -> ScriptedJob:
        asked = msgspec.json.decode(request, type=Request)
        self.requests.append(asked)
        return ScriptedJob(Script([*self.told(asked), snapshot(None)]))

    def told(self, asked: Request) -> list[Message]:
        match asked.mode:
            case "record" | "ladder":
                return [RecordedFunction(name="f", program=asked.script)] if asked.script else []
            case "define":
                return [ProgramDefinition(definition=self.defined(asked.program))]
            case "measure":
                numpy = Measurement(name="NumPy", kind="numpy", seconds=0.5, cpu=self.cpu)
                peak = Measurement(name="peak", kind="peak", seconds=0.0, gflops=100.0)
                row = self.row(asked.program, "prefix", "f", definition=self.defined(asked.program), gflops=25.0)
                return [Measured(measurement=one) for one in (numpy, peak, row, numpy)]
            case "batch":
                there = self.batches_on.pop(0) if self.batches_on else self.cpu
                numpy = Measurement(name="NumPy", kind="numpy", seconds=0.5, cpu=there)
                told: list[Message] = [Measured(measurement=numpy)]
                for at, text in enumerate(asked.contenders):
                    if text in self.refused:
                        problem = Problem(kind="TVMError", message=self.refused[text])
                        told.append(Failed(label=str(at), problem=problem))
                    else:
                        row = self.row(text, "kernel", str(at))
                        told.append(Measured(measurement=msgspec.structs.replace(row, cpu=there)))
                return told
        return []

    def defined(self, program: str) -> str:
        return "float32[4]: b" if "another" in program else DEFINED

    def row(self, program: str, kind: str, name: str, **fields: Any) -> Measurement:
        seconds, checked = self.seconds.get(program, 1.0), "wrong" if "wrong" in program else "ok"
        return Measurement(
            name=name, kind=kind, seconds=seconds, checked=checked, cpu=self.cpu, disturbed=self.busy, step=0, **fields
        )  # type: ignore[arg-type]
