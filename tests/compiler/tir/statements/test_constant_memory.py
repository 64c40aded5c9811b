"""Memory whose contents are part of the program."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.driver.build import build
from compiler.ir.module import IRModule
from compiler.ir.serialization.json_format import load_json, save_json
from compiler.ir.structural import assert_structural_equal, structural_equal
from compiler.runtime.arrays.ndarray import array
from compiler.tir.analysis import verify_well_formed
from compiler.tir.interpreter import interpret
from compiler.tir.script import ScriptError, from_source
from compiler.tir.statements.stmt import AllocateConst
from compiler.tir.transform import ConvertSSA, ExtractPrimFuncConstants
from tests.machines import needs_c_compiler

LOOKUP = """
@T.prim_func
def main(A: T.Buffer((6,), "int32"), C: T.Buffer((6,), "float32")):
    table = T.allocate_const([1, 5, -2, 7, 0, 3], "int32", [2, 3])
    scale = T.allocate_const([0.5, 2.0], "float32", [2])
    rows = T.Buffer((2, 3), "int32", data=table)
    factors = T.Buffer((2,), data=scale)
    for i in range(6):
        C[i] = T.Cast("float32", rows[i // 3, i % 3] + A[i]) * factors[i % 2]
"""
NUMBERS = np.arange(6, dtype="int32")
EXPECTED = (np.array([1, 5, -2, 7, 0, 3]) + NUMBERS) * np.array([0.5, 2.0] * 3)


def test_text_and_json_read_back() -> None:
    func = from_source(LOOKUP)
    assert_structural_equal(from_source(func.script()), func)
    assert_structural_equal(load_json(save_json(func)), func)
    assert not structural_equal(from_source(LOOKUP.replace("-2", "-3")), func)
    assert verify_well_formed(func)


@needs_c_compiler
def test_interpreter_and_llvm_read_the_contents() -> None:
    func = from_source(LOOKUP)
    interpreted = np.zeros(6, "float32")
    interpret(func, [NUMBERS, interpreted])
    np.testing.assert_array_equal(interpreted, EXPECTED)
    for target in ("llvm", "c"):
        built = array(np.zeros(6, "float32"))
        build(func, target=target)(array(NUMBERS), built)
        np.testing.assert_array_equal(built.numpy(), EXPECTED)


def test_module_lists_each_constant_once() -> None:
    mod = IRModule({"first": from_source(LOOKUP), "second": from_source(LOOKUP)})
    extracted = ExtractPrimFuncConstants()(mod)
    constants = extracted.attrs["constants"]
    assert [c.numpy().tolist() for c in constants] == [[[1, 5, -2], [7, 0, 3]], [0.5, 2.0]]
    for name in ("first", "second"):
        outer = extracted[name].body
        assert isinstance(outer, AllocateConst)
        assert isinstance(outer.body, AllocateConst)
        assert (outer.irmod_storage_idx, outer.body.irmod_storage_idx) == (0, 1)
    assert_structural_equal(ConvertSSA()(mod)["first"], mod["first"])


def test_number_of_elements_must_fit() -> None:
    with pytest.raises(ScriptError, match="expected 6 elements, got 5"):
        from_source(LOOKUP.replace(', 3], "int32"', '], "int32"'))
