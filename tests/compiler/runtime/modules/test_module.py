"""Calls: arguments are checked before machine code sees them; measurement; files of machine code."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.ir.error import ArgumentError, BuildError, TVMError
from compiler.ir.expr.primexpr import Select, Var, const
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.module import IRModule
from compiler.runtime.arrays.ndarray import array, empty
from compiler.runtime.device import cpu, cuda
from compiler.runtime.modules.library import MARK, load_module
from compiler.runtime.modules.linking import _LINKERS
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.native_code import host_triple
from compiler.runtime.modules.packed_func import register_func
from compiler.tir.expressions.named_calls import call_pure_extern
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import BufferStore, For, ForKind
from tests.compiler.target.kernels import compile_module, elementwise


@pytest.fixture(scope="module")
def add() -> Module:
    return compile_module(elementwise(lambda x, y: x + y, ["float32", "float32"], "float32", 8))


@pytest.fixture(scope="module")
def scale() -> Module:
    """``out[i] = a[i] * factor`` for ``n`` rows of ``2 * n`` elements."""
    n, i, factor = Var("n"), Var("i"), Var("factor", "float32")
    a, out = decl_buffer((n, n * 2), "float32", "a"), decl_buffer((n * n * 2,), "float32", "out")
    flat = decl_buffer((n * n * 2,), "float32", "flat", data=a.data)
    body = For(i, 0, n * n * 2, ForKind.PARALLEL, BufferStore(out, BufferLoad(flat, (i,)) * factor, (i,)))
    params = (Var("a", "handle"), factor, Var("out", "handle"))
    func = PrimFunc(params, body, None, {params[0]: a, params[2]: out}, {"tir.noalias": True})
    return compile_module(IRModule({"scale": func}))


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.ones(shape, "float32")


def test_numpy_arrays_and_ndarrays(add: Module) -> None:
    out = empty((8,))
    add(floats(8), array(floats(8)), out)
    np.testing.assert_array_equal(out.numpy(), 2)
    plain = np.zeros(8, "float32")
    add["kernel"](floats(8), floats(8), plain)
    np.testing.assert_array_equal(plain, 2)


def read_only() -> np.ndarray[Any, Any]:
    a = floats(8)
    a.flags.writeable = False
    return a


def unaligned() -> np.ndarray[Any, Any]:
    return np.zeros(33, "uint8")[1:].view("float32")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((floats(8), floats(8)), "expected 3 arguments (in0, in1, out), got 2"),
        ((floats(8), [1.0] * 8, floats(8)), "argument 'in1' must be an array (tvm.nd.array or NumPy), got list"),
        ((floats(8), floats(9), floats(8)), "argument 'in1' must have dimension 0 equal to 8, got 9"),
        ((floats(2, 4), floats(8), floats(8)), "argument 'in0' must have 1 dimensions (8), got shape (2, 4)"),
        ((floats(8), floats(8).astype("float64"), floats(8)), "argument 'in1' must have dtype float32, got float64"),
        ((floats(16)[::2], floats(8), floats(8)), "argument 'in0' must be C-contiguous"),
        ((floats(8), floats(8), read_only()), "argument 'out' is written by the function, but the array is read-only"),
        ((unaligned(), floats(8), floats(8)), "argument 'in0' must be aligned to 4 bytes"),
    ],
)
def test_arguments_that_do_not_fit(add: Module, args: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match="kernel: " + re.escape(message)):
        add(*args)


def test_outputs_share_no_memory(add: Module) -> None:
    a = floats(8)
    with pytest.raises(ArgumentError, match="'out' is written and shares memory with argument 'in0'"):
        add(a, floats(8), a)
    out = empty((8,))
    add(a, a, out)
    np.testing.assert_array_equal(out.numpy(), 2)


def test_shapes_known_at_run_time(scale: Module) -> None:
    for n in (1, 3, 8):
        a, out = np.random.default_rng(n).random((n, 2 * n)).astype("float32"), empty((2 * n * n,))
        scale(a, 2.5, out)
        np.testing.assert_array_equal(out.numpy(), a.reshape(-1) * np.float32(2.5))
    with pytest.raises(ArgumentError, match=re.escape("'a' must have dimension 1 equal to 6 ((n * 2)), got 5")):
        scale(floats(3, 5), 1.0, floats(18))
    with pytest.raises(ArgumentError, match="argument 'factor' must be a number, got str"):
        scale(floats(3, 6), "x", floats(18))


def test_integers_must_fit() -> None:
    count, out, handle = Var("count", "int8"), decl_buffer((1,), "int8", "out"), Var("out", "handle")
    func = PrimFunc((count, handle), BufferStore(out, count, (const(0),)), None, {handle: out})
    module = compile_module(IRModule({"put": func}))
    result = empty((1,), "int8")
    module(-128, result)
    assert result.numpy() == -128
    for bad, message in ((128, "must fit int8, got 128"), (1.5, "must be an int, got float")):
        with pytest.raises(ArgumentError, match=message):
            module(bad, result)


def test_a_function_prepares_each_measurement(add: Module) -> None:
    args = (floats(8), floats(8), empty((8,)))
    seen: list[int] = []
    register_func("test.prepare", lambda *given: seen.append(len(given)), override=True)
    result = add.time_evaluator(add.entry_name, cpu(0), number=2, repeat=3, f_preproc="test.prepare")(*args)
    assert len(result.results) == 3
    assert seen == [3, 3, 3]
    flushed = add.time_evaluator(add.entry_name, cpu(0), number=1, repeat=2, f_preproc="cache_flush_cpu_non_first_arg")(
        *args
    )
    assert len(flushed.results) == 2
    with pytest.raises(ArgumentError, match=re.escape("test.nothing")):
        add.time_evaluator(add.entry_name, cpu(0), f_preproc="test.nothing")


def test_any_number_but_zero_is_true() -> None:
    flag, out, handle = Var("flag", "bool"), decl_buffer((1,), "int32", "out"), Var("out", "handle")
    body = BufferStore(out, Select(flag, const(10), const(20)), (const(0),))
    module = compile_module(IRModule({"choose": PrimFunc((flag, handle), body, None, {handle: out})}))
    result = empty((1,), "int32")
    for given, expected in ((True, 10), (1, 10), (10, 10), (-1, 10), (0, 20), (False, 20)):
        module(given, result)
        assert result.numpy() == expected


def test_measurement(add: Module) -> None:
    args = (floats(8), floats(8), empty((8,)))
    result = add.time_evaluator(add.entry_name, cpu(0), number=5, repeat=4)(*args)
    assert len(result.results) == 4
    assert 0 < result.min <= result.median <= result.max
    assert result.min <= result.mean <= result.max
    assert "mean (ms)" in str(result)
    long = add.time_evaluator(add.entry_name, cpu(0), number=1, repeat=1, min_repeat_ms=5)(*args)
    assert long.mean < 5e-3
    cold = add.time_evaluator(add.entry_name, cpu(0), number=1, repeat=3, cache_flush_bytes=1 << 16)(*args)
    assert (len(cold.results), cold.mean) == (3, np.mean(cold.results))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"number": 0}, "time_evaluator: number must be an int of at least 1, got 0"),
        ({"repeat": "x"}, "time_evaluator: repeat must be"),
        ({"dev": cuda(0)}, "device cuda(0) has no runtime on this machine"),
        ({"dev": None}, "time_evaluator: dev must be a device"),
        ({"func_name": "nothing"}, "no function is named 'nothing'; there are 'kernel'"),
    ],
)
def test_measurements_that_cannot_be(add: Module, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        add.time_evaluator(**{"func_name": "kernel", "dev": cpu(0), **options})


class _Calls(Instrument):
    def __init__(self, answer: list[float] | None) -> None:
        self.answer = answer
        self.seen: list[str] = []

    def before_call(self, built: Any, name: str, args: Any) -> None:
        self.seen.append("before")

    def after_call(self, built: Any, name: str, seconds: float) -> None:
        self.seen.append("after")

    def measure(self, built: Any, name: str, number: int, repeat: int, args: Any) -> list[float] | None:
        self.seen.append("measure")
        return self.answer

    def measured(self, built: Any, name: str, number: int, seconds: list[float]) -> None:
        self.seen.append("measured")


def test_instruments_see_calls_and_may_answer_measurements(add: Module) -> None:
    args = (floats(8), floats(8), empty((8,)))
    with instrumented(_Calls(None)) as _, instrumented(calls := _Calls(None)):
        add(*args)
        add.time_evaluator("kernel", cpu(0), number=1)(*args)
    assert calls.seen == ["before", "after", "measure", "measured"]
    with instrumented(answering := _Calls([1.0, 3.0])):
        assert add.time_evaluator("kernel", cpu(0), repeat=2)(*args).mean == 2.0
    assert answering.seen == ["measure"]
    with instrumented(refused := _Calls(None)), pytest.raises(ArgumentError):
        add(*args[:2])
    assert refused.seen == []


def test_sources(add: Module) -> None:
    assert "define" in add.get_source("ll") == add.get_source()
    assert "kernel:" in add.get_source("asm") == add.get_source("s")
    with pytest.raises(ArgumentError, match="get_source: fmt must be one of 'll', 'asm', got 'ptx'"):
        add.get_source("ptx")


@pytest.mark.parametrize("suffix", [".o", ".so"])
def test_export_and_load(scale: Module, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"scale{suffix}"
    scale.export_library(str(path))
    loaded = load_module(path)
    a, out = floats(2, 4), empty((8,))
    loaded(a, 3.0, out)
    np.testing.assert_array_equal(out.numpy(), 3)
    with pytest.raises(ArgumentError, match="argument 'a' must have dtype float32"):
        loaded(a.astype("int32"), 3.0, out)
    assert loaded.entry_name == scale.entry_name == "__tvm_main__"
    assert loaded[loaded.entry_name] is loaded.entry_func is loaded["scale"]
    assert not loaded.implements_function(loaded.entry_name)


def test_without_a_linker_object_code_is_written(
    scale: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    path = tmp_path / "scale.so"
    scale.export_library(str(path))
    out = empty((8,))
    load_module(path)(floats(2, 4), 3.0, out)
    np.testing.assert_array_equal(out.numpy(), 3)


@pytest.mark.skipif(not any(map(shutil.which, _LINKERS)), reason="no linker")
def test_a_library_for_another_processor_needs_a_cross_compiler(tmp_path: Path) -> None:
    other = "x86_64" if host_triple().startswith("aarch64") else "aarch64"
    kernel = elementwise(lambda x, y: x + y, ["float32", "float32"], "float32", 8)
    module = compile_module(kernel, target=f"llvm -mtriple={other}-linux-gnu")
    with pytest.raises(BuildError, match=rf"does not link code for {other}-linux-gnu: .*cc='{other}-linux-gnu-gcc'"):
        module.export_library(str(tmp_path / "add.so"))


def test_files_that_are_no_modules(scale: Module, tmp_path: Path) -> None:
    path = tmp_path / "scale.o"
    with pytest.raises(ArgumentError, match="cannot read"):
        load_module(path)
    path.write_bytes(b"\x7fELF nothing")
    with pytest.raises(ArgumentError, match="was not written by export_library"):
        load_module(path)
    scale.export_library(str(path))
    data = bytearray(path.read_bytes())
    data[data.find(MARK) + len(MARK) + 60] ^= 1
    path.write_bytes(data)
    with pytest.raises(ArgumentError, match="is damaged"):
        load_module(path)


def test_scalars_of_every_type() -> None:
    for dtype, value in (("float16", 1.5), ("float32", -2.25), ("float64", 1e300), ("bool", True), ("uint64", 1 << 63)):
        scalar, out, handle = Var("scalar", dtype), decl_buffer((1,), dtype, "out"), Var("out", "handle")
        func = PrimFunc((scalar, handle), BufferStore(out, scalar, (const(0),)), None, {handle: out})
        result = empty((1,), dtype)
        compile_module(IRModule({"put": func}))(value, result)
        assert result.numpy()[0] == value


def test_functions_that_there_are_not() -> None:
    call = elementwise(lambda x: call_pure_extern("float32", "no_such_function", x), ["float32"], "float32", 8)
    with pytest.raises(BuildError, match="calls 'no_such_function'"):
        compile_module(call)(floats(8), empty((8,)))


def test_texts_are_saved(add: Module, tmp_path: Path) -> None:
    for name, text in (("kernel.ll", "define"), ("kernel.s", "kernel:"), ("kernel.asm", "kernel:")):
        add.save(str(tmp_path / name))
        assert text in (tmp_path / name).read_text()
    add.save(str(tmp_path / "kernel.o"))
    out = empty((8,))
    load_module(tmp_path / "kernel.o")(floats(8), floats(8), out)
    assert out.numpy()[0] == 2
    for where in ("no/kernel.ll", "no/kernel.o", "no/kernel.so"):
        with pytest.raises(TVMError):
            add.save(str(tmp_path / where))


def test_sizes_that_no_argument_tells() -> None:
    n, step = Var("n"), Var("step")
    for shape, strides, arg, message in (
        ((n * 2,), (), floats(4), r"has dimension 0 of \(n \* 2\), which no argument determines"),
        ((n,), (step,), unaligned_steps(), r"must have strides of whole elements"),
    ):
        out, handle = decl_buffer(shape, "float32", "out", strides=strides), Var("out", "handle")
        func = PrimFunc((handle,), BufferStore(out, const(1.0), (const(0),)), None, {handle: out})
        with pytest.raises(ArgumentError, match=message):
            compile_module(IRModule({"put": func}))(arg)


def unaligned_steps() -> np.ndarray[Any, Any]:
    pairs = np.zeros(4, [("value", "float32"), ("odd", "uint16")])
    return pairs["value"]
