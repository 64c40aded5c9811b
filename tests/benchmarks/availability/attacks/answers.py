"""Answers that a script forges: large, long, many, or with numbers that no measurement gives."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import msgspec

from app.artifacts import Measurement
from app.protocol import Snapshot
from tests.benchmarks.availability.attack import Attack, Attacker
from tests.benchmarks.availability.forging import forge, forged_here
from tests.benchmarks.serving.client import Reply, form

BEGUN_MESSAGE = """
write(struct.pack("<I", 31 << 20))
write(b"x" * ((31 << 20) - 100))
"""
LONG_LINE = """
send(Snapshot(answer=answer([listing([Line("x" * (15 << 20))], name=str(number))])))
"""
QUADRATIC_FOR_THE_LEXER = """
lines = [Line("a" * 3990), *[Line(" " * 3990)] * 199] * 2
send(Snapshot(answer=answer([listing(lines, name=str(number))])))
"""
QUADRATIC_IN_EACH_LINE = """
lines = [Line("_" * 3990)] * 400
send(Snapshot(answer=answer([listing(lines, name=str(number))])))
"""
EMPTY_LINES = """
made = listing([Line("")], name=str(number))
body = msgspec.json.encode(Snapshot(answer=answer([made])))
send(body.replace(b'[["",[],[]]]', b"[" + b'["",[],[]],' * 2_000_000 + b'[""]]'))
"""
SHORTEST_LINES = """
made = listing([Line("")], name=str(number))
body = msgspec.json.encode(Snapshot(answer=answer([made])))
send(body.replace(b'[["",[],[]]]', b"[" + b'[""],' * 6_000_000 + b'[""]]'))
"""
MANY_ORIGINS = """
send(Snapshot(answer=answer(origins=[Origin(n, "loop", "", None, None, [n]) for n in range(500_000)])))
"""
MANY_SNAPSHOTS = """
made = listing([Line("x" * 100)] * 1_000, name=str(number))
for n in range(600):
    send(Snapshot(answer=answer([made], console=[Console("stdout", "y" * 60_000)])))
"""
DEEP_NESTING = """
send(b"[" * (30 << 20))
"""

MANY_UNITS = """
made = listing([Line(f"%{n} = add i32 %0, {n}") for n in range(1_000)], name=str(number))
steps = [Step(group="llvm", name="s" * 200, detail="d" * 200, listing=made.key) for n in range(1_000)]
stage = Stage(name="C", placement="root", body="b" * 200, loops=[Loop(name="i", extent="4", kind="spatial")] * 100)
units = [Unit(name=f"u{n}", steps=steps, schedule=[stage] * 100, built=True) for n in range(20)]
kernels = [Kernel(name=f"k{n}", operators=["add"] * 300, script="x" * 20_000) for n in range(400)]
units.append(Unit(name="g", kind="graph", steps=steps, kernels=kernels, built=True))
problems = [Problem(kind="Error", message="m" * 1_000, trace=["t"] * 1_000)] * 50
send(Snapshot(answer=Answer(units=units, listings={made.key: made}, problems=problems)))
"""
TWO_LONG_LISTINGS = """
texts = [[Line(str(n * n * 31 % modulus)) for n in range(5_990)] for modulus in (101, 103)]
send(Snapshot(answer=answer([listing(lines, name=name) for name, lines in zip("ab", texts)])))
"""


def forged_answers(body: str, parallel: int = 4, path: str = "/panes") -> Callable[[Attacker], None]:
    """Return an attack of which each request comes from another tab and forges another answer."""

    def attack(attacker: Attacker) -> None:
        numbers = itertools.count()

        def ask(_thread: int) -> None:
            number = next(numbers)
            script, tab = forge(body, number), f"tab {number}"
            if path.startswith("/api/"):
                attacker.post(path, {"script": script, "tab": tab, "seq": 1})
            else:
                fields, headers = form({"script": script, "options": "{}", "tab": tab, "seq": "1"})
                attacker.send("POST", path, fields, headers)

        attacker.swarm(parallel, ask)

    return attack


def long_differences(attacker: Attacker) -> None:
    """Ask for the difference of two listings that take long to align."""
    fields, headers = form({"script": forge(TWO_LONG_LISTINGS), "options": "{}"})
    attacker.send("POST", "/panes", fields, headers)
    answer = msgspec.json.decode(forged_here(TWO_LONG_LISTINGS)[0], type=Snapshot).answer
    before, after = answer.listings
    path = f"/text/llvm?listing={after}&before={before}"
    attacker.swarm(8, lambda number: attacker.send("GET", f"{path}&label={number}"))


NUMBERS = ("5e-324", "1e308", "-1.0", "0.0", "-0.0", "1.7976931348623157e308", "1e-300")
FORGED_MEASUREMENTS = """
gflops, seconds = number
made = [Measurement(name=f"m{n}", kind=kind, seconds=seconds, gflops=gflops, flops=gflops, step=n, spread=seconds)
        for n, kind in enumerate(["prefix", "numpy", "peak", "kernel"] * 2)]
kernel = Kernel(name="k", operators=["add"], flops=gflops, bytes=gflops, seconds=seconds)
step = Step(group="graph", name="s", milliseconds=seconds, facts={"operators": gflops, "bytes": gflops}, error=seconds)
unit = Unit(name="main", kind="graph", steps=[step], kernels=[kernel])
forged = Answer(units=[unit], measurements=made, milliseconds=seconds)
send(Snapshot(answer=forged))
"""


def _expect_no_fault(attacker: Attacker, path: str, reply: Reply | None) -> None:
    if reply is not None and reply.status >= 500:
        attacker.broken.append(f"{path}: HTTP {reply.status}")


def forged_numbers(attacker: Attacker) -> None:
    """Forge measurements of every size, in answers and in the state of a ladder."""
    pairs = itertools.cycle(itertools.product(NUMBERS, NUMBERS))

    def ask(_thread: int) -> None:
        gflops, seconds = map(float, next(pairs))
        script = forge(FORGED_MEASUREMENTS, (gflops, seconds))
        for path in ("/panes", "/run"):
            fields, headers = form({"script": script, "options": "{}"})
            reply = attacker.send("POST", path, fields, headers)
            _expect_no_fault(attacker, path, reply)
        measured = [Measurement(name="m", kind=kind, seconds=seconds, gflops=gflops) for kind in ("prefix", "numpy")]
        fields, headers = form({"asked": msgspec.json.encode({"measurements": measured}).decode()})
        _expect_no_fault(attacker, "/chart", attacker.send("POST", "/chart", fields, headers))

    attacker.swarm(2, ask)


ATTACKS = (
    Attack("D5", "messages begun in ever new tabs", forged_answers(BEGUN_MESSAGE, path="/api/compile")),
    Attack("D7", "lines of 15 MB", forged_answers(LONG_LINE)),
    Attack("D7", "600 snapshots in each answer", forged_answers(MANY_SNAPSHOTS)),
    Attack("D8", "spaces, quadratic for the lexer", forged_answers(QUADRATIC_FOR_THE_LEXER)),
    Attack("D8", "names, quadratic for the lexer", forged_answers(QUADRATIC_IN_EACH_LINE)),
    Attack("D9", "2,000,000 empty lines", forged_answers(EMPTY_LINES)),
    Attack("D9", "6,000,000 empty lines, as JSON", forged_answers(SHORTEST_LINES, path="/api/compile")),
    Attack("D8", "differences of 6,000 lines", long_differences),
    Attack("D9", "20 units of 1,000 steps, 400 kernels", forged_answers(MANY_UNITS)),
    Attack("D9", "500,000 origins", forged_answers(MANY_ORIGINS)),
    Attack("D9", "JSON of 30 MB that only opens", forged_answers(DEEP_NESTING)),
    Attack("D14", "forged times and rates", forged_numbers),
)
