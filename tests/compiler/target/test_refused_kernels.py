"""Kernels that no device of a target can run: errors name the user's line, the rule, and what would be legal."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.driver.emulate import emulate
from compiler.driver.sanitize import sanitize
from compiler.ir.error import BuildError, LoweringError, ScheduleError, TargetError, TVMError
from compiler.ir.module import IRModule
from compiler.ir.origin import OriginTable, recording
from compiler.tir import PrimFunc
from compiler.tir.sanitizer import Fault
from compiler.tir.script import from_source
from tests.compiler.tir.transform.programs import program

Scheduled = tuple[te.Schedule, list[te.Tensor]]
KINDS = ("cuda", "opencl", "metal", "webgpu", "nvptx", "rocm")


def _line_of(function: Callable[..., Any], text: str) -> int:
    """Return the line of this file in which a function says something."""
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


def _refusal(made: Callable[[], Scheduled], kind: str, error: type[TVMError]) -> str:
    with recording(OriginTable()):
        s, args = made()
        with pytest.raises(error) as raised:
            tvm.build(s, args, kind)
    return str(raised.value)


def _unbound() -> Scheduled:
    a = te.placeholder((128,), name="A")
    b = te.compute((128,), lambda i: a[i] + 1.0, name="B")
    return te.create_schedule(b.op), [a, b]


def _two_extents() -> Scheduled:
    a = te.placeholder((128,), name="A")
    b = te.compute((128,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((64,), lambda i: b[i] + b[i + 1], name="C")
    s, tx = te.create_schedule(c.op), te.thread_axis("threadIdx.x")
    block, thread = s[c].split(c.op.axis[0], 32)
    s[c].bind(block, te.thread_axis("blockIdx.x"))
    s[c].bind(thread, tx)  # of C
    s[b].compute_at(s[c], block)
    s[b].set_scope("shared")
    s[b].bind(s[b].split(b.op.axis[0], 8)[1], tx)  # of B
    return s, [a, c]


def _declared_extent() -> Scheduled:
    a = te.placeholder((128,), name="A")
    b = te.compute((128,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis((0, 32), "threadIdx.x"))
    return s, [a, b]


def _bound_twice() -> Scheduled:
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x"))
    s[b].bind(b.op.axis[1], te.thread_axis("threadIdx.x"))  # again
    return s, [a, b]


def _inner_block() -> Scheduled:
    a = te.placeholder((128,), name="A")
    b = te.compute((128,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[0], 8)
    s[b].bind(outer, te.thread_axis("threadIdx.x"))
    s[b].bind(inner, te.thread_axis("blockIdx.x"))
    return s, [a, b]


def _too_much_shared() -> Scheduled:
    a = te.placeholder((4, 1 << 17), name="A")
    b = te.compute((4, 1 << 17), lambda i, j: a[i, j] + 1.0, name="B")
    s, tx = te.create_schedule(b.op), te.thread_axis((0, 32), "threadIdx.x")
    shared = s.cache_read(a, "shared", [b])
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    s[b].bind(s[b].split(b.op.axis[1], 32)[1], tx)
    s[shared].compute_at(s[b], b.op.axis[0])
    s[shared].bind(s[shared].split(s[shared].op.axis[1], 32)[1], tx)
    return s, [a, b]


_SCHEDULES: dict[str, tuple[Callable[[], Scheduled], type[TVMError], str, str]] = {
    "unbound": (_unbound, LoweringError, "te.compute", "did you forget to bind its loops to thread axes"),
    "two extents": (_two_extents, LoweringError, "# of B", "all loops .* must have the same extent; split one of them"),
    "an extent of the axis": (_declared_extent, ScheduleError, ".bind(", "must have the extent 32 .* got 128.*; split"),
    "one axis, two loops": (_bound_twice, ScheduleError, "# again", "only their diagonal .*; fuse them, or bind one"),
    "an inner block": (_inner_block, LoweringError, '"blockIdx.x"', "threads are inside blocks.*; reorder"),
    "too much shared memory": (
        _too_much_shared, LoweringError, "compute_at", "524,288 bytes of shared memory.*max_shared_memory.*; stage"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _SCHEDULES)
def test_schedules(name: str) -> None:
    made, error, marked, rule = _SCHEDULES[name]
    for kind in KINDS:
        message = _refusal(made, kind, error)
        assert re.search(rule, message), message
        assert f"line {_line_of(made, marked)}" in message, message


def _kernel(body: str) -> PrimFunc:
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return program(f"with T.launch_thread('threadIdx.x', 64) as tx:\n{lines}")


_DIVERGENT = {
    "a branch": ("if tx < 5:\n    T.evaluate(T.tvm_storage_sync('shared'))", "the branch .* depends on tx < 5"),
    "a branch on memory": ("if A[tx] > 0:\n    T.evaluate(T.tvm_storage_sync('shared'))", "depends on .*A.tx. "),
    "a loop": ("for i in range(tx):\n    T.evaluate(T.tvm_storage_sync('shared'))", "the loop over i .* on tx"),
    "a definition": (
        "half: T.int32 = tx // 2\nif half < 9:\n    T.evaluate(T.tvm_storage_sync('shared'))",
        "the branch .* depends on half < 9",
    ),
    "what a thread stored": (
        "L = T.decl_buffer((1,), 'int32', scope='local')\nL[0] = tx\nwhile L[0] < 9:\n    L[0] = L[0] + 1\n"
        "    T.evaluate(T.tvm_storage_sync('shared'))",
        "the loop .* depends on .*L.0. < 9",
    ),
}


@pytest.mark.parametrize("name", _DIVERGENT)
def test_barriers_that_not_all_threads_come_to(name: str) -> None:
    body, what = _DIVERGENT[name]
    with recording(OriginTable()):
        func = _kernel(f"{body}\nC[tx] = 1")
        for kind in KINDS:
            with pytest.raises(LoweringError, match=what) as raised:
                tvm.build(IRModule({"main": func}), target=kind)
            assert "so that not all threads of a block come to it" in str(raised.value)
            assert "; move the barrier out, or let the condition depend on the block alone" in str(raised.value)
            assert len(re.findall(r"\(line \d+\)", str(raised.value))) == 2, raised.value
    reports = sanitize(IRModule({"main": func}), arrays=_arrays()).reports
    assert reports[0].fault is Fault.DIVERGENT_BARRIER, "the sanitizer runs what no target builds"


def _arrays() -> list[Any]:
    return [np.arange(64, dtype="int32") % 3, np.zeros(64, "int32"), 7]


@pytest.mark.parametrize(
    "condition", ["n > 3", "A[5] > 0", "L[0] < 3"], ids=["a size", "memory of all", "what all threads stored"]
)
def test_barriers_that_all_threads_come_to(condition: str) -> None:
    body = f"""
L = T.decl_buffer((1,), 'int32', scope='local')
L[0] = n // 3
if {condition}:
    L[0] = L[0] + 1
    T.evaluate(T.tvm_storage_sync('shared'))
C[tx] = L[0]
"""
    for kind in KINDS:
        source = tvm.build(IRModule({"main": _kernel(body)}), target=kind).imported_modules[0].get_source()
        assert re.search("syncthreads|barrier|Barrier|bar.sync", source)


def test_a_shared_stage_within_a_branch() -> None:
    with recording(OriginTable()):
        func = _kernel(
            "S = T.decl_buffer((64,), 'int32', scope='shared')\nif tx < 5:\n    S[tx] = A[tx]\n    C[tx] = S[4 - tx]"
        )
        for kind in KINDS:
            with pytest.raises(LoweringError, match=r"the condition is tx < 5, .*; let the extents divide") as raised:
                tvm.build(IRModule({"main": func}), target=kind)
            assert len(re.findall(r"\(line \d+\)", str(raised.value))) == 2, raised.value


def _typed(dtype: str, threads: int = 8) -> Scheduled:
    a = te.placeholder((8,), dtype, name="A")
    b = te.compute((8,), lambda i: a[i] + a[7 - i], name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x"))
    return s, [a, b]


@pytest.mark.parametrize(
    ("kind", "dtype", "cure"),
    [
        ("webgpu", "float64", "compute in float32"),
        ("webgpu", "int64", "use int32"),
        ("webgpu", "uint64", "use uint32"),
        ("webgpu", "int8", "use int32"),
        ("webgpu", "bool", "cast to int32"),
        ("webgpu", "bfloat16", "store float16 or float32"),
        ("webgpu", "e5m2_float8", "store float16 or float32"),
        ("metal", "float64", "compute in float32"),
        ("webgpu -supports_float16=0", "float16", "compute in float32"),
        ("opencl -supports_float16=0", "float16", "compute in float32"),
    ],
)
def test_data_types_that_a_language_lacks(kind: str, dtype: str, cure: str) -> None:
    message = _refusal(lambda: _typed(dtype), kind, BuildError)
    line = _line_of(_typed, "te.compute")
    assert re.search(rf"of type {dtype}, which [AB] \(line {line}\) .*; .*{cure}", message), message


def test_half_precision_where_the_feature_is_asked_for() -> None:
    s, args = _typed("float16")
    assert tvm.build(s, args, "webgpu").imported_modules[0].get_source().startswith("enable f16;")


@pytest.mark.parametrize("kind", ["cuda", "opencl", "metal", "nvptx"])
def test_bfloat16_is_stored_as_its_bits(kind: str) -> None:
    s, args = _typed("bfloat16")
    source = tvm.build(s, args, kind).imported_modules[0].get_source()
    assert re.search(r"unsigned short\*|ushort\*|\.b16|\.u16", source)


def test_bfloat16_emulated() -> None:
    s, args = _typed("bfloat16")
    bits = (np.arange(8, dtype="float32").view("uint32") >> 16).astype("uint16")
    result = np.zeros(8, "uint16")
    emulate(s, args, "cuda")(bits, result)
    sums = (result.astype("uint32") << 16).view("float32")
    np.testing.assert_array_equal(sums, np.full(8, 7, "float32"))


@pytest.mark.parametrize(
    ("dtype", "number"), [("e4m3_float8", ml_dtypes.float8_e4m3fn), ("e5m2_float8", ml_dtypes.float8_e5m2)]
)
def test_numbers_of_eight_bits_are_computed_in_single_precision(dtype: str, number: type) -> None:
    s, args = _typed(dtype)
    values = np.array([0.5, 1, 1.5, 2, -3, 4, -8, 16], number)
    result = np.zeros(8, "uint8")
    emulate(s, args, "cuda")(values.view("uint8"), result)
    np.testing.assert_array_equal(result.view(number), values + values[::-1])
    assert "unsigned char* __restrict__ B" in tvm.build(s, args, "cuda").imported_modules[0].get_source()


def test_a_language_of_cpus_names_the_loops_that_are_bound() -> None:
    message = _refusal(lambda: _typed("float32"), "c", TargetError)
    assert f"binds loops to threadIdx.x (line {_line_of(_typed, 's[b].bind')}), and target 'c' has no" in message


def _calling(name: str) -> Scheduled:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: tvm.tir.call_extern("float32", name, a[i]), name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x"))
    return s, [a, b]


@pytest.mark.parametrize("kind", ["nvptx", "rocm"])
def test_functions_that_a_back_end_cannot_call(kind: str) -> None:
    line = _line_of(_calling, "call_extern")
    assert f"has no code for elsewhere (line {line}); use target 'cuda'" in _refusal(
        lambda: _calling("elsewhere"), kind, BuildError
    )
    assert f"(line {line}) is not a function name" in _refusal(lambda: _calling(""), kind, BuildError)


def test_a_thread_axis_that_no_language_has() -> None:
    func = from_source(
        "@T.prim_func\ndef main(C: T.Buffer((8,), 'int32')):\n"
        "    T.func_attr({'global_symbol': 'main'})\n"
        "    with T.launch_thread('threadIdx.w', 8) as t:\n        C[t] = 1\n"
    )
    for kind in KINDS:
        with pytest.raises(TVMError, match=r"has no thread axis 'threadIdx.w'"):
            tvm.build(IRModule({"main": func}), target=kind)


def _symbolic(threads: bool) -> Scheduled:
    n = te.var("n")
    a = te.placeholder((8, n), name="A")
    b = te.compute((8, n), lambda i, j: a[i, j] * 2.0, name="B")
    s, tx = te.create_schedule(b.op), te.thread_axis("threadIdx.x")
    if threads:
        s[b].bind(b.op.axis[1], tx)  # as many as columns
        return s, [a, b]
    local = s.cache_read(a, "local", [b])
    s[b].bind(b.op.axis[0], tx)
    s[local].compute_at(s[b], b.op.axis[0])  # a row
    return s, [a, b]


@pytest.mark.parametrize(
    ("threads", "error", "marked", "rule"),
    [
        (True, LoweringError, "# as many", "an unknown number of threads .*; split the axis smaller"),
        (False, BuildError, "# a row", "arrays of a kernel are of constant size; split the axes .* by constants"),
    ],
    ids=["threads", "an array"],
)
def test_sizes_that_only_a_call_knows(threads: bool, error: type[TVMError], marked: str, rule: str) -> None:
    message = _refusal(lambda: _symbolic(threads), "webgpu", error)
    assert re.search(rule, message), message
    assert f"(line {_line_of(_symbolic, marked)})" in message, message


_STATEMENTS = {
    "an assertion": (
        "assert n > 3, 'few'\nC[tx] = 1",
        r"a kernel cannot fail.* \(line \d+\).*tir.disable_assert leaves",
    ),
    "an unknown barrier": (
        "T.evaluate(T.tvm_storage_sync('cluster'))\nC[tx] = 1",
        r"scope 'cluster' \(line \d+\); it has them for shared",
    ),
    "a call": (
        "C[tx] = T.call_intrin('int32', 'tir.lookup_param', 1)",
        r"no code for a call of .* \(line \d+\); express it",
    ),
}


@pytest.mark.parametrize("name", _STATEMENTS)
def test_statements_that_no_language_has(name: str) -> None:
    body, rule = _STATEMENTS[name]
    with recording(OriginTable()):
        func = _kernel(body)
        for kind in ("cuda", "opencl", "metal", "webgpu"):
            with pytest.raises(BuildError, match=rule):
                tvm.build(IRModule({"main": func}), target=kind)
