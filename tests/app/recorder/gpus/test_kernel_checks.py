"""What kernels compute, emulated: against a definition, the program before its schedule, or the interpreter."""

from __future__ import annotations

import pytest

from app.kernel_reports import KernelReport
from app.panes.gpu import GpuContent
from app.recorder.gpus import kernel_checks
from compiler.ir.error import TVMError
from tests.app.recorder.gpus.test_device_code import answered

BY_HAND = """\
import tvm
from tvm.script import tir as T

@T.prim_func
def scale(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    block = T.launch_thread("blockIdx.x", 4)
    thread = T.launch_thread("threadIdx.x", 64)
    B[block * 64 + thread] = A[block * 64 + thread] * T.float32(2)

f = tvm.build(scale, target="cuda")
"""
TENSORIR = """\
import tvm
from tvm import tir
from tvm.script import tir as T

@T.prim_func
def scale(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for i in range(256):
        with T.block("B"):
            v = T.axis.spatial(256, i)
            B[v] = A[v] * T.float32(2)

s = tir.Schedule(scale)
block, thread = s.split(*s.get_loops(s.get_block("B")), factors=[4, 64])
s.bind(block, "blockIdx.x")
s.bind(thread, "threadIdx.x")
f = tvm.build(s.mod, target="cuda")
"""
OPEN = """\
import tvm
from tvm import te

n = te.var("n")
A = te.placeholder((n,), name="A")
B = te.compute((n,), lambda i: A[i] * 2, name="B")
s = te.create_schedule(B.op)
block, thread = s[B].split(B.op.axis[0], factor=64)
s[B].bind(block, te.thread_axis("blockIdx.x"))
s[B].bind(thread, te.thread_axis("threadIdx.x"))
f = tvm.build(s, [A, B], target="cuda")
"""
TOO_LARGE = BY_HAND.replace("256", "4194304").replace('"blockIdx.x", 4', '"blockIdx.x", 65536')


def report(script: str, *problems: str) -> KernelReport:
    answer, _ = answered(script, mode="run")
    assert [problem.kind for problem in answer.problems] == [*problems]
    made = answer.units[-1].device
    assert made is not None
    return made


def test_a_kernel_by_hand_is_compared_with_the_interpreter() -> None:
    checked = report(BY_HAND)
    assert (checked.emulated, checked.error) == ("ok", 0.0)
    assert "against the interpreter, thread by thread" in checked.emulation
    assert (checked.sanitized, GpuContent(checked).faults) == ("all", "✓ Sanitizer: no fault")


def test_a_kernel_by_hand_that_is_too_large_is_not_compared() -> None:
    checked = report(TOO_LARGE)
    assert checked.emulated == "unchecked"
    assert "too large for the interpreter; it runs at most 100,000 accesses" in checked.emulation
    assert (checked.sanitized, GpuContent(checked).faults) == ("part", "Sanitizer: no fault so far")


def test_what_the_sanitizer_cannot_run_is_not_called_faultless(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise TVMError("the sanitizer does not know it")

    monkeypatch.setattr(kernel_checks, "sanitize", refuse)
    checked = report(BY_HAND)
    assert (checked.sanitized, checked.sanitizer) == ("nothing", "the sanitizer does not know it")
    assert GpuContent(checked).faults == "Not sanitized"


def test_a_scheduled_program_is_compared_with_itself_before_the_schedule() -> None:
    checked = report(TENSORIR)
    assert (checked.emulated, checked.error) == ("ok", 0.0)
    assert "against the definition without its schedule" in checked.emulation


def test_faults_are_told_of_a_kernel_by_hand_too() -> None:
    racing = BY_HAND.replace(
        "B[block * 64 + thread] = A[block * 64 + thread] * T.float32(2)", "if block == 0:\n        B[0] = A[thread]"
    )
    checked = report(racing, "data race")
    assert checked.faults[0].kind == "data race"
    assert GpuContent(checked).faults == "✗ Sanitizer: 1 fault"
    assert "against the interpreter" in checked.emulation


def test_kernels_of_open_sizes_are_not_run_and_the_sizes_are_named() -> None:
    checked = report(OPEN)
    assert checked.emulation == checked.sanitizer == "sizes are open (n): with numbers in their place, kernels run here"
    assert (checked.emulated, checked.sanitized) == ("unchecked", "nothing")
