"""Modules and functions in TVMScript: what is said beside their statements."""

import pytest

import compiler as tvm
from compiler.classic.tir.script_builder import IRBuilder
from compiler.classic.tir.script_builder import ir as builder
from compiler.tir.script import from_source
from compiler.tir.script import ir as I
from compiler.tir.script import tir as T


@I.ir_module
class Placed:
    I.module_attrs({"version": 2})
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 1)], "dummy": [I.dummy_global_info()]})

    @T.prim_func
    def main(A: T.Buffer((1,), "float32")):
        A[0] = Placed.twice(A[0])

    @T.prim_func(private=True)
    def twice(x: T.float32) -> T.float32:
        return x * T.float32(2)


def test_global_infos_are_read_and_written():
    assert [device.target.kind for device in Placed.global_infos["vdevice"]] == ["llvm", "cuda"]
    text = Placed.script()
    assert 'I.module_global_infos({"dummy": [I.dummy_global_info()], "vdevice": [I.vdevice(' in text
    tvm.ir.assert_structural_equal(from_source(text), Placed)


def test_devices_of_a_module_are_looked_up_while_it_is_built():
    with IRBuilder() as build, builder.ir_module():
        builder.module_global_infos(Placed.global_infos)
        assert builder.lookup_vdevice("cuda").vdevice_id == 1
        assert builder.lookup_vdevice().target.kind == "llvm"
        with pytest.raises(tvm.TVMError, match="no device 0 of kind 'metal'"):
            builder.lookup_vdevice("metal")
    assert build.get().global_infos == Placed.global_infos


def test_a_call_has_the_type_that_the_function_returns():
    assert Placed["twice"].ret_type == tvm.ir.PrimType("float32")
    assert Placed["main"].ret_type is None
    assert Placed["main"].body.value.dtype == "float32"
    text = Placed.script()
    assert "def twice(x: T.float32) -> T.float32:\n        return x * T.float32(2.0)" in text
    assert text.index("def twice") < text.index("def main"), "the entry comes last"
    without = from_source(text.replace(" -> T.float32", ""))
    assert not tvm.ir.structural_equal(without["twice"], Placed["twice"])


def test_the_type_behind_the_arrow_is_one():
    with pytest.raises(tvm.TVMError, match="'f' must be annotated with a return type such as T"):
        from_source("@T.prim_func\ndef f(x: T.int32) -> 5:\n    return x\n")
    pointer = from_source('@T.prim_func\ndef f(x: T.handle("int8")) -> T.handle("int8", "shared"):\n    T.ret(x)\n')
    assert pointer.ret_type == tvm.ir.PointerType(tvm.ir.PrimType("int8"), "shared")
