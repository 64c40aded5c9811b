"""Programs for the visitor's GPU: what a child prepares of a recorded schedule."""

from __future__ import annotations

from base64 import b64decode

import numpy as np
import pytest

from app.protocol import Failed, Request
from app.recorder.gpus import gpu_program
from app.recorder.gpus.webgpu import prepare_for_webgpu
from app.recorder.measuring.random_inputs import random_arrays
from app.webgpu import GPUPrepared, GPUProgram, GPUResult
from compiler import te
from compiler.te.program import write_program


def prepared(text: str, **fields: object) -> GPUProgram | Failed:
    messages: list[object] = []
    prepare_for_webgpu(Request(mode="webgpu", program=text, **fields), messages.append)  # type: ignore[arg-type]
    (message,) = messages
    assert isinstance(message, GPUPrepared | Failed)
    return message.program if isinstance(message, GPUPrepared) else message


def program_of(text: str, **fields: object) -> GPUProgram:
    program = prepared(text, **fields)
    assert isinstance(program, GPUProgram), program
    return program


def scaled(n: int, dtype: str = "float32", bind: bool = True) -> str:
    a = te.placeholder((n,), name="A", dtype=dtype)
    b = te.compute((n,), lambda i: a[i] * te.const(3, dtype), name="B")
    s = te.create_schedule(b.op)
    block, thread = s[b].split(b.op.axis[0], factor=64)
    if bind:
        s[b].bind(block, te.thread_axis("blockIdx.x"))
        s[b].bind(thread, te.thread_axis("threadIdx.x"))
    return write_program(s, [a, b], "llvm", "scaled")


def values_of(result: GPUResult) -> np.ndarray:
    return np.frombuffer(b64decode(result.values), result.dtype)


def test_the_whole_schedule_is_prepared_with_what_it_should_compute() -> None:
    program = program_of(scaled(1000), seed=5)
    (step,) = program.steps
    assert step.step == 3
    assert step.launches[0].blocks == (16, 1, 1)
    assert step.launches[0].threads == (64, 1, 1)
    assert [argument.name for argument in program.arguments] == ["A", "B"]
    inputs = random_arrays([(1000,), (1000,)], ["float32"] * 2, 5)
    (result,) = program.results
    np.testing.assert_array_equal(values_of(result), inputs[0] * np.float32(3))
    assert result.argument == 1
    assert program.reference == "NumPy"
    assert result.scale == values_of(result).max()


def test_prefixes_that_launch_nothing_say_so() -> None:
    program = program_of(scaled(1000), prefixes=True)
    assert [bool(step.launches) for step in program.steps] == [False, False, True, True]
    assert all("no loop is bound" in step.problem for step in program.steps[:2])


def test_without_threads_nothing_is_computed() -> None:
    program = program_of(scaled(1000, bind=False))
    assert not program.results
    assert "no loop is bound" in program.steps[0].problem


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_types_that_wgsl_lacks_are_refused(dtype: str) -> None:
    (step,) = program_of(scaled(64, dtype)).steps
    assert dtype in step.problem
    assert not step.launches


def test_of_many_elements_a_sample_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_program, "MAX_COMPARED", 999)
    monkeypatch.setattr(gpu_program, "MAX_SAMPLE", 100)
    program = program_of(scaled(1000), seed=1)
    (result,) = program.results
    indices = np.frombuffer(b64decode(result.indices), "uint32")
    assert len(indices) == len(np.unique(indices)) == 100
    inputs = random_arrays([(1000,)], ["float32"], 1)[0]
    np.testing.assert_array_equal(values_of(result), (inputs * np.float32(3))[indices])
    assert result.scale == (inputs * np.float32(3)).max()


@pytest.mark.parametrize("text", ["", "{}", '{"version":1}'])
def test_a_text_that_is_no_program_is_a_problem(text: str) -> None:
    assert isinstance(prepared(text), Failed)


def mixed(x: int) -> int:
    """The documented mix, with Python's integers."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        x = ((x ^ (x >> shift)) * factor) & 0xFFFFFFFF
    return x


@pytest.mark.parametrize("seed", [0, 7, 0xFFFFFFFF])
def test_random_inputs_are_those_that_are_documented(seed: int) -> None:
    dtypes = ["float32", "float64", "float16", "bool", "int32", "uint8"]
    arrays = random_arrays([(5, 20)] * len(dtypes), dtypes, seed)
    for position, (dtype, array) in enumerate(zip(dtypes, arrays, strict=True)):
        key = mixed((seed + (position + 1) * 0x9E3779B9) & 0xFFFFFFFF)
        words = [mixed(i ^ key) for i in range(100)]
        expected: list[float] = [word >> (31 if dtype == "bool" else 29) for word in words]
        if dtype.startswith("float"):
            bits = 10 if dtype == "float16" else 23
            expected = [0.5 + (word >> (32 - bits)) * 2.0**-bits for word in words]
        assert array.dtype == dtype
        assert array.shape == (5, 20)
        assert [float(value) for value in array.reshape(-1)] == expected
