"""Answers over a limit: what exceeds it is left out, and named; nothing is decoded that cannot be shown."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest

from app.artifacts import Answer, Console, Drawing, GraphNode, Line, Listing, Measurement, Problem, Unit, drawing_key
from app.jobs import answers, assembly
from app.jobs.answers import pack
from app.jobs.assembly import MAX_LINE_CHARACTERS, MAX_LINES, MAX_VALUES, assemble
from app.protocol import Snapshot
from app.sandbox import Outcome
from tests.app.runners import listing, snapshot

OK = Outcome(status="ok")


def sent(*listings: Listing, **fields: object) -> bytes:
    return msgspec.json.encode(snapshot(None, *listings, **fields))


def only_problem(answer: Answer) -> Problem:
    [problem] = answer.problems
    assert problem.kind == "OutputLimit"
    return problem


def long_text(lines: int, characters: int = 1) -> Listing:
    made = listing("x" * characters)
    text = msgspec.structs.replace(made, lines=made.lines * lines)
    return msgspec.structs.replace(text, key=assembly.listing_key(text))


@pytest.mark.parametrize(
    ("hostile", "words"),
    [
        (long_text(1, MAX_LINE_CHARACTERS + 1), "a line of 262,145 characters; at most 262,144 can be shown"),
        (long_text(MAX_LINES + 1), f"a text of 200,001 lines; at most {MAX_LINES:,} can be shown"),
    ],
    ids=["line", "lines"],
)
def test_what_exceeds_a_limit_is_left_out_and_named(hostile: Listing, words: str) -> None:
    honest = listing()
    answer = assemble([sent(honest, hostile)], OK)
    assert list(answer.listings) == [honest.key]
    assert answer.status == "limit"
    assert words in only_problem(answer).message


def test_what_reaches_a_limit_is_shown() -> None:
    texts = [long_text(1, MAX_LINE_CHARACTERS), long_text(MAX_LINES // 100)]
    answer = assemble([sent(*texts)], OK)
    assert answer.listings == {text.key: text for text in texts}
    assert answer.problems == []


def test_too_many_texts_and_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "MAX_LISTINGS", 3)
    monkeypatch.setattr(assembly, "MAX_DRAWINGS", 2)
    drawings = []
    for number in range(4):
        drawing = Drawing(key="", name="m", nodes=[GraphNode(key=str(number), label="x")], edges=[])
        drawings.append(msgspec.structs.replace(drawing, key=drawing_key(drawing)))
    answer = Answer(
        listings={text.key: text for text in (listing(str(number)) for number in range(5))},
        drawings={drawing.key: drawing for drawing in drawings},
    )
    shown = assemble([msgspec.json.encode(Snapshot(answer=answer))] * 2, OK)
    assert (len(shown.listings), len(shown.drawings)) == (3, 2)
    assert [problem.message for problem in shown.problems] == [
        "the script made more than 3 texts",
        "the script made more than 2 drawings",
    ]


def test_two_million_empty_lines_are_refused_before_they_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []
    decoder = msgspec.json.Decoder(assembly.Message)

    class Counting:
        def decode(self, raw: bytes) -> object:
            decoded.append(len(raw))
            return decoder.decode(raw)

    monkeypatch.setattr(assembly, "_decoder", Counting())
    lines = b",".join([b'[""]'] * (MAX_VALUES + 2))
    hostile = b'{"type":"snapshot","answer":{"listings":{"k":{"key":"k","lines":[' + lines + b"]}}}}"
    answer = assemble([sent(listing()), hostile], OK)
    assert answer.listings == {listing().key: listing()}
    assert only_problem(answer).message == f"the script made more than {MAX_VALUES:,} values"
    assert max(decoded) < 1_000


def test_values_of_all_messages_count(monkeypatch: pytest.MonkeyPatch) -> None:
    message = sent(listing("a, b, c, d"))
    monkeypatch.setattr(assembly, "MAX_VALUES", 5 * message.count(b","))
    assert assemble([message] * 5, OK).problems == []
    assert "values" in only_problem(assemble([message] * 6, OK)).message


def test_measurements_say_who_made_them_whatever_they_claim() -> None:
    forged = Measurement(name="x", kind="kernel", seconds=1.0, source="server")
    assert [m.source for m in assemble([sent(measurements=[forged])], OK).measurements] == ["script"]
    assert [m.source for m in assemble([sent(measurements=[forged])], OK, "server").measurements] == ["server"]


def test_a_packed_answer_is_the_answer_and_its_problems_are_short() -> None:
    problems = [Problem(kind="k" * 9_000, message="m" * 9_000, trace=["t" * 9_000] * 100)] * 100
    answer = Answer(status="error", problems=problems, listings={listing().key: listing()})
    packed = pack(answer)
    assert msgspec.json.decode(packed.json(), type=Answer) == answer
    assert (packed.status, packed.listings, packed.size) == ("error", [listing().key], len(packed.json()))
    assert len(packed.problems) == answers.MAX_PROBLEMS
    assert len(msgspec.json.encode(packed.problems[0])) < (answers.MAX_PROBLEMS + 3) * answers.MAX_CHARACTERS
    assert pack(answer).key == packed.key


def test_lines_count_by_letters() -> None:
    wide = long_text(1, MAX_LINE_CHARACTERS)
    assert assembly.listing_excess(wide) == ""
    assert assembly.listing_excess(msgspec.structs.replace(wide, lines=[Line("é" * (MAX_LINE_CHARACTERS + 1))]))


def test_measurements_of_a_script_that_left_its_process_say_so() -> None:
    row = Measurement(name="f", kind="kernel", seconds=0.5, note="slow")
    left = [msgspec.json.encode(snapshot(4, measurements=[row, msgspec.structs.replace(row, note="")]))]
    ended = [msgspec.json.encode(snapshot(None, measurements=[row]))]
    notes = [m.note for m in assemble(left, OK).measurements]
    assert notes == ["slow · the script left its process early", "the script left its process early"]
    assert [m.note for m in assemble(ended, OK).measurements] == ["slow"]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("timeout", "the trace of LLVM's passes was stopped after 9.0 s; what was done until then is shown"),
        ("memory", "the trace of LLVM's passes needed more memory than a run may have, and was stopped"),
    ],
)
def test_a_script_that_has_ended_was_not_stopped(status: Literal["timeout", "memory"], words: str) -> None:
    answer = Answer(units=[Unit(name="matmul")])
    messages = [msgspec.json.encode(Snapshot(answer=answer, traces_passes=traces)) for traces in (True, False)]
    outcome = Outcome(status=status, wall_seconds=9, cpu_seconds=9)
    assert [problem.message for problem in assemble(messages[:1], outcome).problems] == [words]
    assert assemble(messages, outcome).problems[0].message.startswith("the script ")


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (Answer(units=[Unit(name="matmul")]), True),
        (Answer(console=[Console("stdout", "before\n")]), True),
        (Answer(console=[Console("note", "live preview")]), False),
        (Answer(), False),
    ],
)
@pytest.mark.parametrize("told_by", ["script", "server"])
def test_who_was_stopped_is_told_what_is_shown_where_something_is(answer: Answer, shown: bool, told_by: str) -> None:
    outcome = Outcome(status="timeout", wall_seconds=9, cpu_seconds=9)
    if told_by == "script":
        problem = Problem(kind="Timeout", message="the script was stopped after 2 s", cut_short=True)
        answer = msgspec.structs.replace(answer, status="timeout", problems=[problem])
    assembled = assemble([msgspec.json.encode(Snapshot(answer=answer))], outcome)
    assert [problem.message.endswith("; what was done until then is shown") for problem in assembled.problems] == [
        shown
    ]


@pytest.mark.parametrize(
    ("cpu_seconds", "interrupted", "starved"), [(2.0, False, True), (7.0, False, False), (2.0, True, False)]
)
def test_a_script_that_had_no_processor_is_told_that_the_server_is_busy(
    cpu_seconds: float, interrupted: bool, starved: bool
) -> None:
    outcome = Outcome(status="timeout", wall_seconds=9, cpu_seconds=cpu_seconds, interrupted=interrupted)
    [problem] = assemble([], outcome).problems
    assert (problem.starved, "in which it had a processor for 2.0 s" in problem.message) == (starved, starved)
