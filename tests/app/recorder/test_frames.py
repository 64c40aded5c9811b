"""The script's frames in an error: those of a recursion are counted, not listed."""

from __future__ import annotations

from app.artifacts import SCRIPT_NAME
from app.recorder.frames import TRACE_ENDS, user_trace


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
