"""The real recorder and compiler inside every tier: schedules become machine code, run on threads, and are stopped."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

import msgspec
import pytest

from app.artifacts import Answer, Measurement, Mode, Options, OwnKernel
from app.built_files import BuiltFile, FileSubject, read_part
from app.jobs.assembly import assemble
from app.protocol import Failed, Measured, Message, RecordedFunction, Request, Snapshot
from app.recorder.gpus.kernel_scripts import ENDING
from app.recorder.units.block_text import write_blocks
from app.sandbox import Limits, Mechanism, Outcome, Sandbox, Tier
from compiler.ir.module import IRModule
from compiler.tir.script.functions import from_source
from tests.app.sandbox.test_tiers import OFFERED
from tests.machines import needs_openmp

MATMUL = """
import numpy as np
import tvm
from tvm import te

n = 96
A = te.placeholder((n, n), name="A")
B = te.placeholder((n, n), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
s = te.create_schedule(C.op)
i, j = C.op.axis
outer, inner = s[C].split(i, factor=16)
lanes, lane = s[C].split(j, factor=8)
s[C].reorder(outer, lanes, k, inner, lane)
s[C].vectorize(lane)
s[C].parallel(outer)
function = tvm.build(s, [A, B, C], target="llvm", name="matmul")
a, b = (np.random.default_rng(seed).random((n, n), dtype="float32") for seed in (1, 2))
c = tvm.nd.array(np.zeros((n, n), "float32"))
function(tvm.nd.array(a), tvm.nd.array(b), c)
print("correct" if np.allclose(c.numpy(), a @ b, rtol=1e-4) else "wrong")
"""


NOTES = {"notes.txt": b"attached"}
UNLIKE = [name for name in OFFERED if name not in {"nobody in a container", "no Landlock"}]
"""Tiers that let a script do different things."""


@pytest.fixture(scope="module", params=UNLIKE)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    tier = Tier(mechanisms=OFFERED[request.param])
    with Sandbox("app.recorder.handler:handle", preload=["app.recorder.handler"], tier=tier) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def strongest() -> Iterator[Sandbox]:
    with Sandbox("app.recorder.handler:handle", preload=["app.recorder.handler"]) as sandbox:
        yield sandbox


def record(
    sandbox: Sandbox,
    mode: Mode,
    script: str,
    cpu_seconds: float = 120.0,
    budget_seconds: float = 30.0,
    files: Mapping[str, bytes] = NOTES,
) -> tuple[list[Message], Answer, Outcome]:
    """All messages, the last answer, and how the job ended."""
    request = Request(mode=mode, script=script, options=Options(threads=2), budget_seconds=budget_seconds)
    limits = Limits(wall_seconds=60, cpu_seconds=cpu_seconds)
    job = sandbox.start(msgspec.json.encode(request), files, limits)
    messages = [msgspec.json.decode(raw, type=Message) for raw in job.messages()]
    answers = [message.answer for message in messages if isinstance(message, Snapshot)]
    assert answers, job.outcome
    return messages, answers[-1], job.outcome


@needs_openmp
def test_a_parallel_matrix_multiplication(sandbox: Sandbox) -> None:
    _, answer, outcome = record(sandbox, "run", MATMUL)
    assert answer.problems == []
    assert [entry.text for entry in answer.console if entry.stream == "stdout"] == ["correct\n"]
    assert outcome.status == "ok"
    (unit,) = answer.units
    assert unit.built
    assert {step.group for step in unit.steps} == {"schedule", "lowering", "llvm", "assembly"}
    assert answer.environment["parallel"].startswith("OpenMP")


def test_a_library_is_made_where_nothing_can_be_written(sandbox: Sandbox) -> None:
    request = Request(mode="file", script=MATMUL, file=FileSubject(form="so"), file_bytes=1 << 20, budget_seconds=30.0)
    *_, part, said = sandbox.start(msgspec.json.encode(request), NOTES, Limits(wall_seconds=60)).messages()
    place, content = read_part(part)
    assert (place, content[:4]) == (0, b"\x7fELF")
    assert msgspec.json.decode(said, type=BuiltFile) == BuiltFile(name="matmul", size=len(content))


def test_a_ladder_is_recorded_and_measured_in_another_process(strongest: Sandbox) -> None:
    messages, answer, outcome = record(strongest, "ladder", MATMUL)
    assert answer.problems == []
    assert outcome.status == "ok"
    assert not any(isinstance(message, Measured) for message in messages)
    [recorded] = [message for message in messages if isinstance(message, RecordedFunction)]
    assert (recorded.name, recorded.reason) == ("matmul", "")
    rows = measured(strongest, recorded.program)
    assert {"numpy", "peak", "prefix", "bandwidth"} == {row.kind for row in rows}
    prefixes = [row for row in rows if row.kind == "prefix"]
    assert {row.step for row in prefixes} == {0, 3, 4, 5}, "1 and 2 are splits alone"
    assert all(row.checked == "ok" for row in prefixes)


RIGHT = """
@T.prim_func
def main(A: T.Buffer((96, 96)), B: T.Buffer((96, 96)), C: T.Buffer((96, 96))):
    for i, j, k in T.grid(96, 96, 96):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
SUMS = """
@T.prim_func
def main(A: T.Buffer((96, 96)), B: T.Buffer((96, 96)), C: T.Buffer((96, 96))):
    for i, j in T.grid(96, 96):
        with T.block("C_init"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.float32(0)
        for k in range({extent}):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                vk = T.axis.reduce(96, {step})
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def measured(sandbox: Sandbox, program: str, seed: int = 0) -> list[Measurement]:
    """Return what a process measures of a recorded program, every prefix of it."""
    request = Request(mode="measure", program=program, options=Options(threads=2), prefixes=True, seed=seed)
    job = sandbox.start(msgspec.json.encode(request), {}, Limits(wall_seconds=60, cpu_seconds=120.0))
    told = [msgspec.json.decode(raw, type=Message) for raw in job.messages()]
    assert job.outcome.status == "ok"
    assert not any(isinstance(message, Failed) for message in told)
    return [message.measurement for message in told if isinstance(message, Measured)]


def test_a_wrong_kernel_is_caught_where_the_server_measures(strongest: Sandbox) -> None:
    sums = [SUMS.format(step=step, extent=extent) for step, extent in (("k", 96), ("95 - k", 96), ("k", 95))]
    programs = [from_source(RIGHT), *map(from_source, sums)]
    modules = [IRModule({"main": program}) for program in programs]
    text = write_blocks(modules, ["two blocks", "the other way round", "without the last product"], "llvm", "main")
    rungs = [row for row in measured(strongest, text, seed=5) if row.kind == "prefix"]
    assert [row.checked for row in rungs] == ["ok", "ok", "ok", "wrong"]
    errors = [row.error or 0.0 for row in rungs]
    assert max(errors[:2]) < 1e-3
    assert 0.0 < errors[2] < 1e-3  # rounded in another order: what it is compared with is not itself
    assert 0.25 <= errors[3] <= 2.26  # one product of two numbers between 0.5 and 1.5
    assert rungs[3].seconds == 0.0


def test_attached_files(sandbox: Sandbox) -> None:
    _, answer, _ = record(sandbox, "compile", "print(open('notes.txt').read())")
    assert [entry.text for entry in answer.console] == ["attached\n"]


HELPER = b"""
from tvm import te

def doubled(A):
    return te.compute(A.shape, lambda i: A[i] * 2.0, name="B")
"""
WITH_HELPER = """
import tvm
from tvm import te
from helper import doubled

A = te.placeholder((8,), name="A")
B = doubled(A)
tvm.lower(te.create_schedule(B.op), [A, B])
"""


def test_attached_modules_are_imported(sandbox: Sandbox) -> None:
    _, answer, _ = record(sandbox, "compile", WITH_HELPER, files={"helper.py": HELPER})
    assert not answer.problems
    [unit] = answer.units
    assert unit.name == "main"


MODEL = """
import tvm
from tvm import relay

x = relay.var("x", shape=(4, 8))
mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))
lib = relay.build(mod, target="llvm")
"""


def test_a_kernel_of_a_model_is_what_its_script_makes(sandbox: Sandbox) -> None:
    [graph] = [unit for unit in record(sandbox, "compile", MODEL)[1].units if unit.kind == "graph"]
    [kernel] = graph.kernels
    own = {kernel.name + ENDING: kernel.script.encode()}
    [graph] = [unit for unit in record(sandbox, "compile", MODEL, files=own)[1].units if unit.kind == "graph"]
    assert graph.own_kernels == [OwnKernel(name=kernel.name)]


def test_an_endless_loop_is_stopped_at_its_line(sandbox: Sandbox) -> None:
    _, answer, outcome = record(sandbox, "compile", "import tvm\nwhile True:\n    pass\n", budget_seconds=0.3)
    assert answer.status == "timeout"
    assert answer.problems[0].line in {2, 3}
    assert outcome.status == "ok"


SLOW = """
import numpy as np
import tvm
from tvm import te

n = 3072
A, B = (te.placeholder((n, n), name=name) for name in "AB")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
function = tvm.build(te.create_schedule(C.op), [A, B, C], target="llvm", name="matmul")
a, b, c = (tvm.nd.empty((n, n)) for _ in range(3))
function(a, b, c)
"""


def test_native_code_that_takes_too_long_is_killed(strongest: Sandbox) -> None:
    messages, answer, outcome = record(strongest, "run", SLOW, cpu_seconds=3)
    assert answer.problems == []
    assert outcome.status == "timeout"
    last = messages[-1]
    assert isinstance(last, Snapshot)
    assert last.running_line == 12
    assert {step.group for step in answer.units[0].steps} == {"schedule", "lowering", "llvm", "assembly"}


def test_an_array_that_is_too_large(sandbox: Sandbox) -> None:
    _, answer, outcome = record(sandbox, "compile", "import numpy as np\nx = np.ones((1 << 17, 1 << 17))\n")
    assert outcome.status == "ok"
    assert answer.problems[0].line == 2
    assert "memory" in answer.problems[0].message.lower()


def test_what_the_script_may_not_do_is_told_at_its_line(sandbox: Sandbox) -> None:
    _, answer, outcome = record(sandbox, "compile", "import os\nprint('before')\nos.fork()\n")
    assert outcome.status == "ok"
    assert (answer.problems[0].kind, answer.problems[0].line) == ("PermissionError", 3)
    assert answer.console[0].text == "before\n"


@pytest.mark.parametrize(
    ("script", "status", "message"),
    [
        ("import os\nos._exit(0)", "error", "the script left by os._exit(0)"),
        ("import ctypes\nctypes.CDLL(None)._exit(0)", "crash", "the script ended its own process"),
        ("import ctypes\nctypes.CDLL(None)._exit(5)", "crash", "exit code 5"),
        ("import ctypes\nctypes.string_at(8)", "crash", "SIGSEGV"),
        ("import os\nos.write(3, b'\\xff' * 8)", "limit", "a message of 4294967295 bytes"),
        ("import os\nos.write(3, b'\\2\\0\\0\\0{}')", "crash", "what the script's process sent is not an answer"),
    ],
)
def test_a_script_that_sends_no_answer_is_told_so(script: str, status: str, message: str, strongest: Sandbox) -> None:
    request = Request(mode="compile", script=script)
    job = strongest.start(msgspec.json.encode(request))
    answer = assemble(list(job.messages()), job.outcome)
    assert answer.status == status
    assert message in answer.problems[-1].message


@pytest.mark.parametrize("crash", ["ctypes.string_at(8)", "os.abort()"])
def test_a_crash_is_told_at_its_line_and_shows_nothing_of_the_server(crash: str, strongest: Sandbox) -> None:
    script = f"import ctypes, os\nos.write(2, b'begun')\ndef fall():\n    {crash}\n\nfall()\n"
    job = strongest.start(msgspec.json.encode(Request(mode="compile", script=script)))
    answer = assemble(list(job.messages()), job.outcome)
    assert (answer.status, answer.problems[-1].line) == ("crash", 4)
    assert [line.text for line in answer.console] == ["begun"]


LFS = "version https://git-lfs.github.com/spec/v1"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("open('/etc/new', 'w')", "a script here starts no programs, reaches no network and writes only files"),
        ("import os; os.system('ls')", "a script here starts no programs, reaches no network and writes only files"),
        ("import socket; socket.create_connection(('1.1.1.1', 80))", "reaches no network"),
        ("import urllib.request; urllib.request.urlopen('http://example.com')", "reaches no network"),
        ("input('name? ')", "nothing can be typed in for a script here"),
        ("te.placeholder((1,))", "name 'te' is not defined; 'from tvm import te' is missing above"),
        ("import onnx; onnx.load('model.onnx')", "drop it on the page, or name it with --file"),
        ("import tensorflow.keras", "can install it: pip install 'strata-explorer[tensorflow]'"),
        ("import pandas_of_nobody", "scripts here have numpy, onnx and tvm"),
        ("import onnx; onnx.load_model_from_string(b'no model')", "not an ONNX model, or only a part of one"),
    ],
)
def test_an_error_that_the_sandbox_is_behind_says_what_a_script_may_do(
    script: str, words: str, strongest: Sandbox
) -> None:
    _, answer, _ = record(strongest, "compile", script)
    assert answer.problems[0].line == 1
    assert words in answer.problems[0].message


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("open('/etc/passwd')", "No such file or directory: '/etc/passwd'; a script here sees its own files"),
        (f"open('a', 'w').write('{LFS}'); import onnx; onnx.load('a')", "; a is a Git LFS pointer, not the file"),
        ("open('a', 'w').write('<!DOCTYPE html>'); import onnx; onnx.load('a')", "; a is a web page, not the file"),
    ],
)
def test_errors_with_files_of_a_script_s_own_say_what_they_are(script: str, words: str, strongest: Sandbox) -> None:
    if Mechanism.PRIVATE_ROOT not in strongest.tier.mechanisms:
        pytest.skip("this host gives scripts no file system of their own")
    _, answer, _ = record(strongest, "compile", script)
    assert answer.problems[0].line == 1
    assert words in answer.problems[0].message


@pytest.mark.parametrize(
    "script", ["import time\nprint('begun')\ntime.sleep(20)\n", "print('begun')\nwhile True: pass\n"]
)
def test_a_script_that_is_asked_to_end_says_why_and_shows_what_it_did(script: str, strongest: Sandbox) -> None:
    request = msgspec.json.encode(Request(mode="run", script=script, budget_seconds=20.0))
    for seconds in (0.5, 2.0, 8.0):  # a busy machine may take longer to begin
        job = strongest.start(request, limits=Limits(wall_seconds=30.0))
        threading.Timer(seconds, job.interrupt).start()
        answer = assemble(list(job.messages()), job.outcome)
        if answer.console:
            break
    assert answer.status == "timeout"
    assert answer.problems[-1].line == script.count("\n")
    assert "as other requests wait" in answer.problems[-1].message
    assert [entry.text for entry in answer.console] == ["begun\n"]
    assert job.outcome.interrupted


def test_a_script_that_does_not_listen_is_killed_soon(strongest: Sandbox) -> None:
    script = "import signal\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\nwhile True:\n    pass\n"
    job = strongest.start(msgspec.json.encode(Request(mode="run", script=script, budget_seconds=60.0)))
    threading.Timer(0.5, job.interrupt).start()
    answer = assemble(list(job.messages()), job.outcome)
    assert (answer.status, job.outcome.interrupted) == ("timeout", True)
    assert "as other requests wait" in answer.problems[-1].message
