"""Thirty students for two minutes, beside an attacker or alone.

    python -m tests.benchmarks.classroom [--students N] [--seconds N] [--one-address] [--attack CODE] [--only WORDS]
                                         [--json]

Every student joins the class from an address of their own, or all from one, reports every 30 s, and thinks 6 s on
average between two actions: 79 % edits of an example's script, 10 % compilations that somebody has made before, 5 % of
a MobileNetV2, 4 % ladders to their end, 2 % links saved and opened. The attacker is one of
tests.benchmarks.availability, in a process of its own, from before the first action to the last. Nobody may meet an
error, and 95 % of the edits must be answered within 2 s; else the exit status is 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import sys
import threading
import time
from pathlib import Path

import msgspec

from tests.benchmarks.availability.attack import Attack, Attacker
from tests.benchmarks.availability.attacks import ATTACKS
from tests.benchmarks.classroom.student import MIX, Action, Student, read_model
from tests.benchmarks.serving.client import JSON, exchange, json_body
from tests.benchmarks.serving.load import Load, LoadMeter
from tests.benchmarks.serving.monitor import Monitor, Record, percentile
from tests.benchmarks.serving.server import Server

MIB = 1 << 20
EDIT_BOUND = 2.0
"""Seconds within which 95 % of the edits must be answered."""


class Lesson(msgspec.Struct, frozen=True):
    """What happened in a lesson."""

    actions: list[Action]
    record: Record
    load: Load


def hold_lesson(
    students: int, seconds: float, attack: Attack | None, model: bytes, one_address: bool = False
) -> Lesson:
    """Let a class work at a server of its own, with an attacker beside it or without."""
    with Server(attack.settings if attack else {}, attack.arguments if attack else ()) as server:
        meter = LoadMeter()
        with Monitor(server.port, server.pid) as monitor:
            assailant = _start(attack, server, seconds)
            school = _open_class(server.port)
            people = [Student(number, server.port, model, school, one_address) for number in range(students)]
            until = time.monotonic() + seconds
            threads = [threading.Thread(target=student.work, args=(until,)) for student in people]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            load = meter.read()
            if assailant is not None:
                assailant.kill()
                assailant.join()
    return Lesson([action for student in people for action in student.actions], monitor.record, load)


def _open_class(port: int) -> str:
    """Create a class, and return its path."""
    made = exchange(port, "POST", "/api/classes", json_body({"lesson": "split"}), JSON)
    return f"/api/classes/{msgspec.json.decode(made.body)['id']}"


def _start(attack: Attack | None, server: Server, seconds: float) -> multiprocessing.process.BaseProcess | None:
    if attack is None:
        return None
    attacker = Attacker(server.port, server.data, seconds * 2)
    process = multiprocessing.get_context("fork").Process(target=attack.run, args=(attacker,), daemon=True)
    process.start()
    return process


def broken_promises(lesson: Lesson) -> list[str]:
    """Return what a lesson shows that must not be."""
    failures = [action for action in lesson.actions if action.failure]
    edits = sorted(action.seconds for action in lesson.actions if action.kind == "edit")
    broken = [f"{action.kind} of student {action.student}: {action.failure}" for action in failures[:5]]
    broken += [f"{len(failures)} errors"] if failures else []
    late = percentile(edits, 0.95)
    return broken + ([f"p95 of an edit is {late:.2f} s, more than {EDIT_BOUND:g} s"] if late > EDIT_BOUND else [])


def report(lesson: Lesson) -> str:
    """Return the tables of a lesson: times by kind, fairness, memory, load."""
    lines = [f"{'':8}{'count':>7}{'p50 s':>8}{'p95 s':>8}{'p99 s':>8}{'worst':>8}{'errors':>8}"]
    for kind in ("page", "class", *MIX):
        mine = [action for action in lesson.actions if action.kind == kind]
        times = sorted(action.seconds for action in mine)
        shares = "".join(f"{percentile(times, share):8.2f}" for share in (0.5, 0.95, 0.99, 1.0))
        lines.append(f"{kind:8}{len(times):7}{shares}{sum(bool(action.failure) for action in mine):8}")
    health = lesson.record.times("health")
    lines.append(f"\nhealth check: p95 {percentile(health, 0.95):.2f} s, worst {percentile(health, 1.0):.2f} s")
    medians = sorted(_medians(lesson.actions))
    if medians:
        lines.append(f"median edit, by student: best {medians[0]:.2f} s, worst {medians[-1]:.2f} s")
    lines.append(f"server, MiB every ten seconds: {' '.join(str(size) for size in _sizes(lesson.record))}")
    lines.append(f"peak: server {lesson.record.peak(lambda sample: sample.server) / MIB:.0f} MiB")
    return "\n".join([*lines, f"machine: {lesson.load}"])


def _medians(actions: list[Action]) -> list[float]:
    by_student: dict[int, list[float]] = {}
    for action in actions:
        if action.kind == "edit":
            by_student.setdefault(action.student, []).append(action.seconds)
    return [statistics.median(times) for times in by_student.values()]


def _sizes(record: Record) -> list[int]:
    """Return the server's memory in MiB at steps of ten seconds."""
    sizes: list[int] = []
    due = 0.0
    for sample in record.memory:
        if sample.time >= due:
            sizes.append(round(sample.server / MIB))
            due = sample.time + 10.0
    return sizes


def main() -> None:
    """Hold a lesson, print what happened, and fail where it must not be so."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--attack", default="none", help="code of the attack beside the class; none by default")
    parser.add_argument("--only", default="", help="of the attacks with that code the first whose name contains this")
    parser.add_argument("--model", type=Path, help="an ONNX file to look at instead of a MobileNetV2")
    parser.add_argument("--one-address", action="store_true", help="the class is behind one router")
    parser.add_argument("--json", action="store_true", help="print every action as JSON")
    asked = parser.parse_args()
    chosen = [attack for attack in ATTACKS if attack.code == asked.attack and asked.only in attack.name]
    if asked.attack != "none" and not chosen:
        parser.error(f"there is no attack {asked.attack} {asked.only}")
    attack = chosen[0] if chosen else None
    lesson = hold_lesson(asked.students, asked.seconds, attack, read_model(asked.model), asked.one_address)
    broken = broken_promises(lesson)
    if asked.json:
        print(msgspec.json.encode(lesson).decode())
    else:
        print(f"{asked.students} students for {asked.seconds:g} s; attacker: {attack.name if attack else 'none'}\n")
        print(report(lesson), *broken, sep="\n")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
