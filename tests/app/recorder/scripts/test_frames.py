"""The script's frames in an error, those of a recursion counted, and what it was caused by."""

from __future__ import annotations

from app.artifacts import SCRIPT_NAME, Problem
from app.recorder.scripts.failures import problems_of
from app.recorder.scripts.frames import TRACE_ENDS, user_trace


def trace_of(script: str) -> list[str]:
    try:
        exec(compile(script, SCRIPT_NAME, "exec"), {})
    except ValueError as error:
        return user_trace(error.__traceback__)
    raise AssertionError("nothing was raised")


def test_a_recursion_is_one_frame_that_is_counted() -> None:
    script = "def f(n):\n    if not n: raise ValueError\n    f(n - 1)\nf(40)"
    first, called, more, last = trace_of(script)
    assert first.startswith("line 4, in <module>")
    assert called.startswith("line 3, in f")
    assert more == "… and 39 more calls from this line"
    assert last.startswith("line 2, in f")


def test_two_equal_frames_are_one_more_call() -> None:
    assert (
        trace_of("def f(n):\n    if not n: raise ValueError\n    f(n - 1)\nf(2)")[2]
        == "… and 1 more call from this line"
    )


def test_of_functions_that_call_each_other_both_ends_are_shown() -> None:
    trace = trace_of("def f(n):\n    g(n)\ndef g(n):\n    if not n: raise ValueError\n    f(n - 1)\nf(99)")
    assert len(trace) == 2 * TRACE_ENDS + 1
    assert trace[TRACE_ENDS] == f"… {1 + 2 * 100 - 2 * TRACE_ENDS} calls in between …"
    assert trace[0].startswith("line 6, in <module>")
    assert trace[-1].startswith("line 4, in g")


def failure_of(script: str) -> Problem:
    try:
        exec(compile(script, SCRIPT_NAME, "exec"), {})
    except Exception as error:
        [problem] = problems_of(error, {})
        return problem
    raise AssertionError("nothing was raised")


def test_what_a_script_raises_from_another_exception_says_so() -> None:
    problem = failure_of("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise RuntimeError('no luck') from e")
    assert (problem.kind, problem.message, problem.line) == ("RuntimeError", "no luck", 4)
    assert problem.trace[1].startswith("caused by ZeroDivisionError: division by zero")
    assert problem.trace[2].startswith("line 2, in <module>")


def test_a_cause_that_cannot_be_shown_is_named() -> None:
    hostile = "class E(Exception):\n    def __str__(self): raise KeyError('x')\n"
    problem = failure_of(f"{hostile}raise ValueError('shown') from E()")
    assert problem.message == "shown"
    assert problem.trace[1] == "caused by E: E, which cannot be shown: KeyError"


def test_causes_inside_of_a_library_are_its_own_affair() -> None:
    library = "try: 1 / 0\nexcept Exception as error: raise ValueError from error"
    assert len(failure_of(f"exec(compile({library!r}, 'library.py', 'exec'))").trace) == 1
