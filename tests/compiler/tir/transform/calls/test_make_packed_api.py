"""Functions take rows of values and kinds: their form, and what their machine code accepts and refuses."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.ir.error import LoweringError, TVMError
from compiler.ir.module import IRModule
from compiler.runtime.modules.module import Module
from compiler.target.target import Target
from compiler.tir.script import tir as T
from compiler.tir.statements.stmt import AssertStmt, AttrStmt
from tests.compiler.tir.transform.programs import nodes


def packed(mod: Any, name: str = "main") -> Any:
    after = tvm.tir.transform.MakePackedAPI()(
        tvm.tir.transform.Apply(lambda f: f.with_attr({"target": Target("llvm"), "global_symbol": name}))(mod)
    )
    return after[next(iter(after.functions))]


def addition() -> Any:
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    B = te.compute((n, 4), lambda i, j: A[i, j] + 1.0, name="B")
    return tvm.lower(te.create_schedule(B.op), [A, B, n])


class Arguments:
    """Arguments in memory, as callers of registered functions pass them."""

    def __init__(self, *args: Any, ndim: int | None = None, **changed: Any) -> None:
        self.kept: list[Any] = []
        values, kinds = [], []
        for arg in args:
            if isinstance(arg, np.ndarray):
                values.append(self._array(arg, ndim, **changed))
                kinds.append(7)
            elif isinstance(arg, float):
                values.append(struct.unpack("q", struct.pack("d", arg))[0])
                kinds.append(2)
            else:
                values.append(arg)
                kinds.append(0)
        self.values, self.kinds = np.array([*values, 0], "int64"), np.array([*kinds, 0], "int32")
        self.result, self.result_kind = np.zeros(1, "int64"), np.full(1, 4, "int32")

    def _array(self, a: Any, ndim: int | None, device: int = 1, offset: int = 0, strides: Any = None) -> int:
        shape = np.array(a.shape, "int64")
        steps = None if strides is None else np.array(strides, "int64")
        code = {"f": 2, "i": 0, "u": 1}[a.dtype.kind] | a.dtype.itemsize * 8 << 8 | 1 << 16
        pointers = [shape.ctypes.data, 0 if steps is None else steps.ctypes.data]
        data = struct.pack(
            "qiiiiqqq", a.ctypes.data, device, 0, a.ndim if ndim is None else ndim, code, *pointers, offset
        )
        memory = ctypes.create_string_buffer(data, len(data))
        self.kept += [a, shape, steps, memory]
        return ctypes.addressof(memory)

    def call(self, built: Module, count: int | None = None) -> None:
        given = len(self.values) - 1 if count is None else count
        built(self.values, self.kinds, given, self.result, self.result_kind, np.zeros(1, "int8"))


def test_parameters_are_those_of_registered_functions() -> None:
    func = packed(addition())
    names = ["args", "arg_type_ids", "num_args", "out_ret_value", "out_ret_tcode", "resource_handle"]
    assert [p.name for p in func.params] == names
    assert not func.buffer_map
    assert func.attrs["calling_conv"] == 1
    scopes = {n.attr_key: n.value for n in nodes(func, AttrStmt)}
    assert scopes["compute_scope"].value == "main_compute_"
    assert scopes["device_type"].value == 1
    messages = [n.message.value for n in nodes(func, AssertStmt)]
    assert messages[-1] == "main: num_args should be 3"  # the outermost one
    assert "main.A.dtype is expected to be float32" in messages
    assert len(messages) == len(set(messages))


def test_functions_of_the_module_alone_and_packed_ones_stay() -> None:
    mod = addition()
    assert tvm.tir.transform.MakePackedAPI()(IRModule({"f": mod["main"].without_attr("global_symbol")}))[
        "f"
    ].params == tuple(mod["main"].params)
    once = packed(mod)
    assert tvm.tir.transform.MakePackedAPI()(IRModule({"main": once}))["main"] is once
    with pytest.raises(LoweringError, match="Require the target attribute of function 'main'"):
        tvm.tir.transform.MakePackedAPI()(IRModule({"main": mod["main"].with_attr("global_symbol", "main")}))


def test_the_function_is_built_and_computes() -> None:
    built = tvm.build(packed(addition()), target="llvm")
    a, b = np.arange(12, dtype="float32").reshape(3, 4), np.zeros((3, 4), "float32")
    Arguments(a, b, 3).call(built)
    np.testing.assert_array_equal(b, a + 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ndim": 1}, "ndim is expected to equal 2"),
        ({"device": 2}, r"A\.device_type has an unsatisfied constraint"),
        ({"offset": 4}, r"A\.byte_offset has an unsatisfied constraint"),
        ({"strides": [8, 2]}, r"A\.strides: expected to be compact array"),
    ],
)
def test_other_arrays_are_refused(change: dict[str, Any], message: str) -> None:
    built = tvm.build(packed(addition()), target="llvm")
    with pytest.raises(TVMError, match=message):
        Arguments(np.zeros((3, 4), "float32"), np.zeros((3, 4), "float32"), 3, **change).call(built)


def test_other_numbers_kinds_types_and_shapes_are_refused() -> None:
    built = tvm.build(packed(addition()), target="llvm")
    a, b = np.zeros((3, 4), "float32"), np.zeros((3, 4), "float32")
    cases = (
        ((a, b), "num_args should be 3"),
        ((a, 1, 3), r"Expect arg\[1\] to be pointer"),
        ((a, b, 1.5), r"Expect arg\[2\] to be int"),
        ((a.astype("float64"), b, 3), "A.dtype is expected to be float32"),
        ((a, b, 4), r"A\.shape\[0\] has an unsatisfied constraint"),
        ((a, np.zeros((3, 5), "float32"), 3), r"B\.shape\[1\] has an unsatisfied constraint"),
    )
    for args, message in cases:
        with pytest.raises(TVMError, match=message):
            Arguments(*args).call(built)


def test_a_value_is_returned_with_its_kind() -> None:
    @T.prim_func
    def halve(x: T.float32) -> T.float32:
        T.ret(x * T.float32(0.5))

    arguments = Arguments(3.0)
    arguments.call(tvm.build(packed(IRModule({"halve": halve}), "halve"), target="llvm"))
    assert arguments.result.view("float64")[0] == 1.5
    assert arguments.result_kind[0] == 2
