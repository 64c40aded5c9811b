"""What is refused before it is measured or sent, whose fault a failure is, and when a time is over."""

from __future__ import annotations

import builtins
import errno
import os
import socket
import threading
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import msgspec
import numpy as np
import pytest

from app import machine_code
from app.built_files import FileSubject
from app.protocol import Request
from app.recorder import handler
from app.recorder.gpus import cuda_jobs
from app.recorder.measuring import integrity as integrity_module
from app.recorder.measuring import measured_program
from app.recorder.measuring.integrity import Integrity
from app.recorder.measuring.measured_program import BlockProgram, TensorProgram, has_parallel_loop, only_function
from app.recorder.measuring.weights import summarised
from app.recorder.recorder import Recorder
from app.recorder.scripts import allowance as allowance_module
from app.recorder.scripts.allowance import Allowance
from app.recorder.scripts.built_files import make_file
from app.recorder.scripts.failures import remark
from app.recorder.scripts.suggestions import suggestion
from app.recorder.units import block_text
from app.recorder.units.block_text import read_blocks, write_blocks
from app.sandbox.handler import EXIT_DAMAGED, Execute
from compiler import relay, te
from compiler.ir.error import TVMError
from compiler.ir.instrument import instrumented
from compiler.ir.module import IRModule
from compiler.te.definition.numpy_reference import NoNumPyProgram
from compiler.te.program import NotExpressible
from compiler.tir.script.functions import from_source

# whose fault it is


class TestIntegrity:
    """A script that changes what the explorer uses is told apart from an explorer that fails."""

    def test_nothing_changed(self) -> None:
        assert not Integrity().violated()

    def test_a_function_that_is_replaced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = Integrity()
        monkeypatch.setattr(builtins, "print", lambda *_: None)
        assert before.violated()

    def test_a_function_that_is_gone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = Integrity()
        monkeypatch.delattr(os, "getlogin")
        assert before.violated()

    def test_a_method_of_a_class(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = Integrity()
        monkeypatch.setattr(threading.Condition, "notify", lambda *_: None)
        assert before.violated()
        monkeypatch.undo()
        assert not before.violated()

    def test_not_even_looking_works(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = Integrity()
        monkeypatch.setattr(integrity_module, "_definitions", lambda: 1 / 0)
        assert before.violated()


@pytest.mark.parametrize("damaged", [True, False])
def test_a_process_that_a_script_damaged_ends_as_such(damaged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("stages")

    monkeypatch.setattr(handler, "_warm_integrity", SimpleNamespace(violated=lambda: damaged))
    monkeypatch.setattr(handler, "Session", lambda *_: SimpleNamespace(run=fail))
    with pytest.raises(SystemExit if damaged else KeyError) as ended:
        handler.handle(msgspec.json.encode(Request(mode="compile", script="")), lambda _: None)
    assert ended.value.args == ((EXIT_DAMAGED,) if damaged else ("stages",))


class TestAllowance:
    """Times of a clock and of a processor that a test moves on."""

    @pytest.fixture
    def times(self, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
        times = SimpleNamespace(clock=100.0, processor=7.0, waited=50.0)
        moved = SimpleNamespace(monotonic=lambda: times.clock, process_time=lambda: times.processor)
        monkeypatch.setattr(allowance_module, "time", moved)
        monkeypatch.setattr(allowance_module, "waited", lambda: times.waited)
        return times

    def test_the_clock_counts_where_there_is_no_patience(self, times: SimpleNamespace) -> None:
        allowance = Allowance(2.0, 2.0)
        times.clock += 1.5
        assert allowance.left == 0.5
        times.clock += 0.5
        assert allowance.left == 0.0
        times.clock += 1.0
        assert allowance.left == -1.0

    def test_the_processor_counts_up_to_the_patience(self, times: SimpleNamespace) -> None:
        allowance = Allowance(2.0, 10.0)
        times.clock, times.processor = 103.0, 7.5
        assert allowance.left == 1.5
        times.clock, times.processor = 109.5, 7.5
        assert allowance.left == 0.5
        times.processor = 9.0
        assert allowance.left == 0.0
        times.clock, times.processor = 102.0, 9.0
        assert allowance.left == 0.0, "both are over"

    def test_what_it_waits_for_a_processor_does_not_count(self, times: SimpleNamespace) -> None:
        short, long = Allowance(2.0, 10.0), Allowance(20.0, 20.0)
        times.clock, times.waited, times.processor = 130.0, 75.0, 8.0
        assert (short.lacked, short.left, long.left) == (25.0, 1.0, 15.0)
        times.clock = 136.0
        assert short.left == -1.0, "it slept for eleven seconds"
        times.clock, times.waited = 141.0, 91.0
        assert short.left == -1.0, "however long it waited, it ends before it is killed, and shows what it did"

    def test_it_starved_if_it_had_less_than_it_was_given(self, times: SimpleNamespace) -> None:
        patient, hasty = Allowance(2.0, 10.0), Allowance(2.0, 2.0)
        times.processor += 1.0
        assert (patient.starved, hasty.starved) == (True, False), "half is what one without patience can expect"
        times.processor -= 0.25
        assert (patient.starved, hasty.starved) == (True, True)
        times.processor += 1.25
        assert not patient.starved


@pytest.mark.parametrize(
    ("error", "alone", "as_cause"),
    [
        (socket.gaierror(socket.EAI_AGAIN, "no answer"), True, True),
        (OSError(errno.ENETUNREACH, "unreachable"), True, True),
        (PermissionError(errno.EACCES, "no"), True, False),
        (ConnectionResetError(errno.ECONNRESET, "reset"), False, False),
        (ValueError(errno.ENETUNREACH), False, False),
    ],
)
def test_what_a_script_may_not_do_is_told_whatever_it_led_to(error: Exception, alone: bool, as_cause: bool) -> None:
    wrapped = RuntimeError("the download failed")
    wrapped.__cause__ = error
    assert [remark(error) != "", remark(wrapped) != ""] == [alone, as_cause]


def test_a_name_is_suggested_once_and_for_what_has_a_name() -> None:
    assert suggestion(NameError("x", name="vectorise"), {"vectorize": 1}) == "; did you mean 'vectorize'?"
    assert suggestion(NameError("x; did you mean 'y'?", name="vectorise"), {"vectorize": 1}) == ""
    strange = NameError("x")
    strange.name = 7  # type: ignore[assignment]
    assert suggestion(strange, {"vectorize": 1}) == ""


# what is measured


def doubled(shape: tuple[Any, ...], dtype: str = "float32") -> tuple[te.Schedule, list[te.Tensor]]:
    a = te.placeholder(shape, dtype, name="a")
    b = te.compute(shape, lambda *i: a(*i) * a(*i), name="b")
    return te.create_schedule(b.op), [a, b]


def test_only_tensors_of_constant_shapes_are_measured() -> None:
    n = te.var("n")
    schedule, args = doubled((n,))
    with pytest.raises(TVMError, match="measuring needs constant shapes; 'a' has"):
        TensorProgram(schedule, args)
    with pytest.raises(TVMError, match="measuring requires functions of tensors; n is a number"):
        TensorProgram(schedule, [n, *args])


def test_tensors_are_measured_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured_program, "MAX_TENSOR_BYTES", 64)
    assert TensorProgram(*doubled((16,))).parameters[0].shape == (16,)
    with pytest.raises(TVMError, match="of at most 64 bytes; 'a' of shape \\(17,\\) has 68"):
        TensorProgram(*doubled((17,)))


def module_of(body: str, parameters: str = 'A: T.Buffer((8,), "float32")') -> IRModule:
    func = from_source(f"@T.prim_func\ndef main({parameters}):\n" + "".join(f"    {s}\n" for s in body.split("\n")))
    return IRModule({"main": func})


STORE = "for i in range(8):\n    A[i] = T.float32(1)"


def test_a_program_that_is_measured_has_one_function_of_tensors() -> None:
    module = module_of(STORE)
    assert only_function(module) is module["main"]
    for functions in ({}, {"main": module["main"], "other": module["main"]}):
        with pytest.raises(TVMError, match=f"one function; this one has {len(functions)}"):
            only_function(IRModule(functions))
    with pytest.raises(TVMError, match="functions of tensors; n is a number"):
        BlockProgram([module_of(STORE, 'n: T.int32, A: T.Buffer((8,), "float32")')], [])


def test_blocks_that_define_no_tensors_have_no_numpy_program() -> None:
    program = BlockProgram([module_of(STORE)], [])
    with pytest.raises(NoNumPyProgram, match="not definitions of tensors"):
        program.reference([np.zeros(8, "float32")])


def test_a_parallel_loop_is_found() -> None:
    assert not has_parallel_loop(module_of(STORE))
    assert has_parallel_loop(module_of(STORE.replace("range", "T.parallel")))
    assert has_parallel_loop(module_of("for j in range(2):\n    for i in T.parallel(8):\n        A[i] = T.float32(1)"))


def test_a_schedule_that_is_too_long_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = [module_of(STORE)] * 3
    text = write_blocks(programs, ["one", "two"], "llvm", "f")
    monkeypatch.setattr(block_text, "MAX_PREFIXES", 3)
    monkeypatch.setattr(block_text, "MAX_PROGRAM", len(text))
    assert write_blocks(programs, ["one", "two"], "llvm", "f") == text
    monkeypatch.setattr(block_text, "MAX_PROGRAM", len(text) - 1)
    with pytest.raises(NotExpressible, match="its programs are longer than"):
        write_blocks(programs, ["one", "two"], "llvm", "f")
    monkeypatch.setattr(block_text, "MAX_PREFIXES", 2)
    with pytest.raises(NotExpressible, match="it has more than 2 primitives"):
        write_blocks(programs, ["one", "two"], "llvm", "f")


def test_a_schedule_has_one_program_more_than_primitives() -> None:
    content = msgspec.json.decode(write_blocks([module_of(STORE)] * 2, ["one"], "llvm", "f"))
    for programs, primitives in (([], []), ([], ["one"]), (content["programs"], []), (content["programs"], ["a", "b"])):
        forged = msgspec.json.encode({**content, "programs": programs, "primitives": primitives}).decode()
        with pytest.raises(TVMError, match="one program more than it has primitives"):
            read_blocks(forged)


# what is sent


def test_a_job_without_a_script_becomes_the_disassembler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_jobs, "find_tool", lambda name: f"/opt/{name}")
    with pytest.raises(Execute) as execute:
        cuda_jobs.disassemble(Request(mode="sass", script=""), lambda _: None)
    assert execute.value.command == ("/opt/bin/nvdisasm", "-gi", "-c", "-hex", machine_code.CUBIN)


def test_what_was_not_built_for_the_graph_executor_is_no_file_of_a_model() -> None:
    seen = Recorder()
    with instrumented(seen):
        x = relay.var("x", shape=(2, 3))
        relay.vm.compile(IRModule.from_expr(relay.Function([x], relay.nn.relu(x))), target="llvm")
    assert seen.graphs
    with pytest.raises(TVMError, match="this script builds no model"):
        make_file(FileSubject(form="so", model=True), seen)


def test_numbers_of_every_width_have_figures_and_others_have_none() -> None:
    values = np.arange(8, dtype="float32")
    for name in ("bfloat16", "float8_e4m3fn"):
        made = summarised(values.astype(getattr(ml_dtypes, name)), name)
        assert made is not None
        assert (made.minimum, made.maximum) == (0.0, 7.0)
    assert summarised(np.array(["a", "b"]), "text") is None
    assert summarised(values.astype("complex64"), "complex") is None
    assert summarised(values[:1], "float32") is None
