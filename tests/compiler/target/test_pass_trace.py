"""What LLVM's passes do, one by one: the same in the end as the pipeline in one go."""

from __future__ import annotations

import os
import re
from itertools import pairwise

import pytest

import compiler as tvm
from compiler import te
from compiler.ir.error import BuildError
from compiler.target.codegen.llvm import codegen, pipeline
from compiler.target.codegen.llvm.tracing import pass_trace
from compiler.target.codegen.llvm.tracing.pass_summaries import SUMMARIES
from compiler.target.codegen.llvm.tracing.pass_trace import PassRun, trace_passes
from compiler.target.target import Target
from tests.machines import needs_openmp

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell")


@pytest.fixture(scope="module")
def emitted() -> str:
    n = te.var("n")
    a = te.placeholder((n,), name="a")
    b = te.compute((n,), lambda i: a[i] * 2.0 + 1.0, name="b")
    return codegen(tvm.lower(te.create_schedule(b.op), [a, b], name="double"), TARGET).emitted


@pytest.fixture(scope="module")
def runs(emitted: str) -> list[PassRun]:
    return trace_passes(emitted, TARGET)


def body(text: str) -> list[str]:
    """Return the instructions of a module without names, which the printer gives anew."""
    lines = [line for line in text.splitlines() if line.startswith("  ")]
    return [re.sub(r"%[-\w.]+|; preds.*|#\d+|!\w.*", "", line).strip(" ,") for line in lines]


def test_the_last_text_is_what_the_pipeline_makes_in_one_go(emitted: str, runs: list[PassRun]) -> None:
    module = pipeline.parse(emitted)
    pipeline.optimise(module, TARGET)
    last = [run.text for run in runs if run.text is not None][-1]
    assert body(last) == body(str(module))


def test_the_pass_that_vectorises_is_known_by_its_text(emitted: str, runs: list[PassRun]) -> None:
    assert "<8 x float>" not in emitted
    first = next(run for run in runs if run.text and "<8 x float>" in run.text)
    assert (first.name, first.place) == ("LoopVectorize", "double")
    assert "vector registers" in first.summary


def test_passes_that_change_nothing_have_no_text(runs: list[PassRun]) -> None:
    changed = [run.text for run in runs if run.text is not None]
    assert 5 < len(changed) < len(runs) / 2
    assert all(pass_trace._visible(one) != pass_trace._visible(next) for one, next in pairwise(changed))


def test_what_passes_do_is_said_of_most_that_change_something(runs: list[PassRun]) -> None:
    said = [bool(run.summary) for run in runs if run.text is not None]
    assert sum(said) >= 0.9 * len(said)
    assert all(summary[0].isupper() and summary[-1] != "." for summary in SUMMARIES.values())


def test_llvm_is_silent_again_and_the_stream_is_where_it_was(emitted: str, capfd: pytest.CaptureFixture[str]) -> None:
    descriptors = len(os.listdir("/proc/self/fd"))
    trace_passes(emitted, TARGET)
    pipeline.optimise(pipeline.parse(emitted), TARGET)
    os.write(2, b"said")
    assert capfd.readouterr().err == "said"
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_module_that_is_too_long_is_refused(emitted: str) -> None:
    with pytest.raises(BuildError, match=r"at most 200,000 characters, got [\d,]+: it would be printed after each"):
        trace_passes(emitted + ";\n" * 100_000, TARGET)


@needs_openmp
def test_a_function_that_was_inlined_is_deleted_by_the_walk_over_the_call_graph() -> None:
    a = te.placeholder((1024,), name="a")
    b = te.compute((1024,), lambda i: a[i] * 2.0, name="b")
    schedule = te.create_schedule(b.op)
    schedule[b].parallel(b.op.axis[0])
    emitted = codegen(tvm.lower(schedule, [a, b], name="double"), TARGET).emitted
    changing = [run for run in trace_passes(emitted, TARGET) if run.text is not None]
    assert not [run.name for run in changing if "Analysis" in run.name]
    number = next(index for index, run in enumerate(changing) if run.name == pass_trace.CALL_GRAPH_WALK)
    before, after = (changing[index].text or "" for index in (number - 1, number))
    assert "@double.parallel(" in before
    assert "@double.parallel(" not in after
    assert "inlined" in changing[number].summary
