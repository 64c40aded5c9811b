"""A script's output is kept, its time is bounded, and its mistakes are told in its own lines."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from types import FrameType
from typing import Any

import msgspec
import pytest

from app.recorder.scripts.allowance import Allowance
from app.recorder.scripts.script import CONSOLE_LIMIT, BudgetExceeded, Script, Transcript


def run(source: str, budget: float = 5.0) -> Script:
    script = Script(source)
    with script.as_main():
        script.run(Allowance(budget, budget))
    return script


def test_output_is_kept_in_order_by_stream() -> None:
    script = run("import sys\nprint('a')\nprint('b', file=sys.stderr)\nprint('c')\n")
    assert [(e.stream, e.text) for e in script.transcript.finished()] == [
        ("stdout", "a\n"),
        ("stderr", "b\n"),
        ("stdout", "c\n"),
    ]
    assert not script.problems


def test_an_output_flood_is_cut_and_counted() -> None:
    script = run("for _ in range(1000):\n    print('x' * 999)\n")
    entries = script.transcript.finished()
    assert sum(len(e.text) for e in entries if e.stream == "stdout") == CONSOLE_LIMIT
    assert "800,000 more characters" in entries[-1].text


def print_some(transcript: Transcript, text: str, opcodes: int) -> None:
    """Print, and let the time end after so many of the interpreter's instructions."""
    left = opcodes

    def expire(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if frame.f_code is not Transcript.write.__code__:
            return None
        frame.f_trace_opcodes = True
        left -= event == "opcode"
        if left == 0:
            raise BudgetExceeded
        return expire

    before = sys.gettrace()
    sys.settrace(expire)
    with contextlib.suppress(BudgetExceeded):
        transcript.write("stdout", text)
    sys.settrace(before)


def test_what_was_printed_stays_when_the_time_ends_in_the_middle_of_printing() -> None:
    for opcodes in range(1, 200):
        transcript = Transcript()
        transcript.write("stdout", "printed before\n")
        print_some(transcript, "printed last\n", opcodes)
        assert transcript.finished()[0].text.startswith("printed before\n")


@pytest.mark.parametrize(
    ("source", "kind", "line", "words"),
    [
        ("x = 1\ny = x +\n", "SyntaxError", 2, "invalid syntax"),
        ("def f():\n    return 1 / 0\n\nf()\n", "ZeroDivisionError", 2, "division by zero"),
        ("import nowhere_at_all\n", "ModuleNotFoundError", 1, "nowhere_at_all"),
        ("def f():\n    f()\nf()\n", "RecursionError", 2, "too deeply"),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt", 1, "KeyboardInterrupt"),
    ],
)
def test_a_mistake_is_told_at_its_line(source: str, kind: str, line: int, words: str) -> None:
    (problem,) = run(source).problems
    assert (problem.kind, problem.line) == (kind, line)
    assert words in problem.message


def test_columns_mark_the_expression_that_failed() -> None:
    (problem,) = run("a = [1]\nb = 2 + a[7]\n").problems
    assert (problem.line, problem.column, problem.end_column) == (2, 8, 12)


TVMSCRIPT = """from compiler.tir.script import tir as T


@T.prim_func
def copy(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.remap("SS", [i])
            B[vi] = A[vi]
"""


def test_a_mistake_in_tvmscript_is_told_where_it_is_written() -> None:
    """Not at the decorator that reads the function."""
    (problem,) = run(TVMSCRIPT).problems
    assert (problem.kind, problem.line, problem.column) == ("ScriptError", 8, 17)
    assert problem.message.startswith("T.axis.remap: 2 kinds 'SS', got 1 loop")


def test_a_mistake_in_tvmscript_of_a_string_is_told_at_the_call_that_reads_it() -> None:
    text = TVMSCRIPT.replace("compiler.tir.script", "tvm.script")
    (problem,) = run(f"import compiler as tvm\ntext = {text!r}\ntvm.script.from_source(text)\n").problems
    assert (problem.kind, problem.line) == ("ScriptError", 3)
    assert "<script>:8: " in problem.message


def test_the_trace_shows_the_users_frames_only() -> None:
    (problem,) = run("import json\ndef load():\n    return json.loads('{')\nload()\n").problems
    assert problem.trace == ["line 4, in <module>: load()", "line 3, in load: return json.loads('{')"]
    assert problem.line == 3


@pytest.mark.parametrize(
    "loop", ["while True:\n    pass\n", "while True:\n    try:\n        pass\n    except Exception:\n        pass\n"]
)
def test_an_endless_loop_is_stopped_at_its_line(loop: str) -> None:
    script = run("print('before')\n" + loop, budget=0.2)
    (problem,) = script.problems
    assert script.timed_out
    assert problem.kind == "Timeout"
    assert problem.line is not None
    assert problem.line >= 2
    assert script.transcript.finished()[0].text == "before\n"


def test_a_script_that_had_no_processor_gets_more_time_and_is_told() -> None:
    script = Script("import time\ntime.sleep(0.3)\nprint('awake')\ntime.sleep(60)\n")
    script.run(Allowance(0.1, 0.6))
    [problem] = script.problems
    assert script.transcript.finished()[0].text == "awake\n"
    assert (problem.kind, problem.line) == ("Timeout", 4)
    assert "in which it had a processor for 0.0 s" in problem.message
    assert "try again" in problem.message


def test_a_script_without_more_time_is_told_that_it_had_no_processor() -> None:
    [problem] = run("import time\ntime.sleep(60)\n", budget=0.2).problems
    assert "in which it had a processor for 0.0 s" in problem.message


def test_a_script_that_had_a_processor_gets_no_more_time() -> None:
    script = Script("while True:\n    pass\n")
    allowance = Allowance(0.1, 60.0)
    script.run(allowance)
    assert script.timed_out
    assert "try again" not in script.problems[0].message
    assert allowance.processor < 10


@pytest.mark.parametrize(("processor", "starved"), [(2.0, True), (8.0, False)])
def test_another_try_is_worth_it_only_where_a_processor_was_lacking(processor: float, starved: bool) -> None:
    class Crowded(Allowance):
        elapsed, lacked, left = 80.0, 70.0, 0.0

    Crowded.processor = processor  # type: ignore[method-assign, assignment]
    script = Script("while True:\n    pass\n")
    script.run(Crowded(8.0, 20.0))
    [problem] = script.problems
    assert (problem.kind, problem.starved) == ("Timeout", starved)


def test_a_script_that_ends_while_it_is_given_up_has_one_ending_its_own() -> None:
    script = Script("1 / 0\n")
    allowance = Allowance(5.0, 5.0)
    script.run(allowance, after_failure=lambda: script.give_up(None, allowance))
    assert [(problem.kind, problem.line) for problem in script.problems] == [("ZeroDivisionError", 1)]
    assert not script.timed_out


def test_a_script_that_is_stopped_is_not_given_up_as_well() -> None:
    script = run("while True:\n    pass\n", budget=0.2)
    script.give_up(None, Allowance(0.2, 0.2))
    [problem] = script.problems
    assert problem.kind == "Timeout"
    assert problem.line is not None


def test_a_script_that_does_not_end_is_given_up_at_its_line() -> None:
    script = Script("while True:\n    pass\n")
    script.give_up(2, Allowance(0.2, 0.2))
    assert [(problem.kind, problem.line) for problem in script.problems] == [("Timeout", 2)]
    assert script.timed_out


@pytest.mark.parametrize(
    ("status", "words"), [("3", "status 3"), ("0.0", "0.0"), ("'no input'", "'no input'"), ("True", "True")]
)
def test_a_script_that_exits_with_a_status_of_failure_is_said_to_have_ended_there(status: str, words: str) -> None:
    completed: list[bool] = []
    script = Script(f"import sys\nprint('x')\nsys.exit({status})\n")
    script.run(Allowance(5.0, 5.0), lambda: completed.append(True))
    [problem] = script.problems
    assert (problem.kind, problem.line) == ("Exit", 3)
    assert problem.message == f"the script ended at line 3 with {words}"
    assert completed  # what it scheduled is built as at its last line


def test_a_script_that_exits_without_a_failure_has_no_problem() -> None:
    assert not run("import sys\nsys.exit()\n").problems
    assert not run("import sys\nsys.exit(0)\n").problems
    assert not run("import sys\nsys.exit(False)\n").problems


def test_a_preview_that_is_stopped_is_no_mistake_and_names_what_did_not_run() -> None:
    source = "def work():\n    while True:\n        pass\n\nwork()\nx = 1\nassert x == 1, (\n    'never'\n)\n"
    [problem] = run(source, budget=0.2).problems
    assert (problem.severity, problem.cut_short) == ("info", True)
    assert problem.line in (2, 3)
    assert problem.message.endswith("; lines 6 to 9 did not run")
    in_full = Script("while True:\n    pass\n", hurried=False)
    in_full.run(Allowance(0.1, 0.1))
    assert in_full.problems[0].severity == "error"
    assert "did not run" not in in_full.problems[0].message


def test_the_script_is_main_and_has_its_own_names() -> None:
    before = sys.modules["__main__"], sys.argv, threading.excepthook
    names = "import sys, __main__\nassert __main__.__dict__ is globals()\nassert sys.argv == [__file__]\n"
    script = run("assert __name__ == '__main__'\nassert __file__ == 'script.py'\n" + names)
    assert not script.problems
    assert (sys.modules["__main__"], sys.argv, threading.excepthook) == before


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import math\nmath.sqroot(4)", "has no attribute 'sqroot'; did you mean 'sqrt'?"),
        ("matmul = 1\nprint(matmull)", "'matmull' is not defined; did you mean 'matmul'?"),
        ("pritn(1)", "did you mean 'print'?"),
        ("(1).nothing_like_it", "has no attribute 'nothing_like_it'"),
    ],
)
def test_a_misspelt_name_is_told_what_it_may_have_meant(source: str, words: str) -> None:
    [problem] = run(source).problems
    assert problem.message.endswith(words)


TWO_STAGES = """\
import math
import numpy as np
from compiler import te
A = te.placeholder((8, 8), name="A")
k = te.reduce_axis((0, 8), name="k")
C = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="C")
s = te.create_schedule(C.op)
"""


STAGE = (
    "a stage has bind, compute_at, compute_inline, compute_root, double_buffer, fuse, parallel, pragma, prefetch, "
    "reorder, reverse, rolling_buffer, set_scope, set_store_predicate, split, storage_align, tensorize, tile, "
    "transform_layout, unroll, vectorize"
)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("C.compute_at(s[C], k)", "'Tensor' object has no attribute 'compute_at'; a stage has it: s[C].compute_at"),
        ("C.op.vectorize(k)", "; a stage has it: s[C].vectorize"),
        ("s.split(k, 4)", "schedule has no attribute 'split'; a stage has it: s[C].split"),
        ("s[C].cache_write(C, 'local')", "stage has no attribute 'cache_write'; the schedule has it: s.cache_write"),
        ("te.compute((8,), lambda i: np.exp(C[i]))", "; np.exp computes with numbers, te.exp with expressions"),
        (
            "te.compute((8,), lambda i: math.sqrt(C[i] + 1.0))",
            "; math.sqrt computes with numbers, te.sqrt with expressions",
        ),
        ("te.compute((8,), lambda i: sum(A[i, k] * 2.0))", "; sum computes with numbers, te.sum with expressions"),
        ("te.compute((8,), lambda i: C[i] ** 2)", "; te.power(x, y) is the power of expressions"),
        ("sum(3)", "'int' object is not iterable"),
        ("C.nothing_like_it", "'Tensor' object has no attribute 'nothing_like_it'"),
        ("k = s[C].op.axis[2]", "tuple index out of range; s[C].op.axis has 1 axis: i"),
        ("te.compute((8,), lambda i: A[i, A.shape[2]])", "; A.shape has 2 elements: 8, 8"),
        ("i, j = C.op.axis", "(expected 2, got 1); C.op.axis has 1 axis: i"),
        ("s[A].op.axis[0]", "; s[A].op.axis is empty"),
        ("s[C].split(k, 4)[2]", "tuple index out of range"),
        ("''[1]", "string index out of range"),
        ("s[C].", "invalid syntax: a name is expected after the dot; " + STAGE),
        ("k = te.reduce_axis((0, s.))", "; the schedule has cache_read, cache_write, create_group, rfactor"),
        ("C.op.  # and", "invalid syntax: a name is expected after the dot"),
        ("k = = 3", "invalid syntax"),
    ],
)
def test_what_was_asked_of_the_wrong_thing_is_said_with_the_right_one(line: str, words: str) -> None:
    [problem] = run(TWO_STAGES + line).problems
    assert problem.message.endswith(words)
    assert problem.line == 1 + TWO_STAGES.count("\n")


def test_text_that_cannot_be_encoded_is_written_out() -> None:
    script = run("print('a\\ud800b')\nraise ValueError('\\udfff' + 'm' * 100_000)")
    assert script.transcript.finished()[0].text == "a\\ud800b\n"
    [problem] = script.problems
    assert problem.message.startswith("\\udfff")
    assert len(problem.message) < 5_000
    msgspec.json.encode([script.transcript.finished(), script.problems])


def test_an_exception_that_cannot_be_shown() -> None:
    [problem] = run("class E(Exception):\n    def __str__(self):\n        return 1 / 0\nraise E\n").problems
    assert problem.message == "E, which cannot be shown: ZeroDivisionError"
    assert problem.line == 4


def test_a_mistake_in_a_thread_is_told_like_any_other() -> None:
    start = "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\n"
    script = run("import threading\ndef work():\n    1 / 0\n" + start)
    assert [(problem.kind, problem.line) for problem in script.problems] == [("ZeroDivisionError", 3)]
    assert script.transcript.finished() == []


def test_without_interval_timers_a_script_still_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "setitimer")
    assert run("print(1)").transcript.finished()[0].text == "1\n"


def test_what_is_asserted_of_results_that_were_not_computed_is_no_mistake() -> None:
    script = Script("x = 1\nassert x == 2\n")
    script.run(Allowance(5.0, 5.0), incomplete=lambda: True)
    assert not script.problems
    [entry] = script.transcript.finished()
    assert entry.text.strip() == "live preview: line 2 checks what was not computed to its end; press Run"
    other = Script("x = 1\ny = z\n")
    other.run(Allowance(5.0, 5.0), incomplete=lambda: True)
    assert [problem.kind for problem in other.problems] == ["NameError"]
