"""The main function of a lowered graph as loop IR, and what is known of the memory that it needs."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.relay.backend import Executor
from compiler.classic.relay.backend.aot import AOTLowerMain, CreateExecutorMetadata, CreateFunctionMetadata
from compiler.classic.relay.backend.utils import CallType
from compiler.ir.error import BuildError
from compiler.tir.script import tir as T

ONES = relay.const(np.ones((5, 7), "float32"))
TENSOR = "Tensor[(5, 7), float32]"
ADD = f"def @add(%x: {TENSOR}, %y: {TENSOR}) -> {TENSOR} {{ add(%x, %y) }}\n"
PAIR = f"def @pair(%x: {TENSOR}) -> ({TENSOR}, {TENSOR}) {{ (exp(%x), %x) }}\n"


def _lowered(text, call_type=CallType.Unpacked):
    mod = relay.parse('#[version = "0.0.5"]\n' + text, "from_string", None, {"relay.Constant": [ONES]})
    config = tvm.target.make_compilation_config(tvm.transform.PassContext(), tvm.target.Target("llvm", host="llvm"))
    mod = relay.transform.PlanDevices(config)(relay.transform.InferType()(mod))
    return AOTLowerMain("test", config, call_type)(mod)


def _statements(mod):
    lines = mod["__tvm_main__"].script().splitlines()
    return [line.strip() for line in lines if "match_buffer" not in line and line.startswith("    ")][1:]


def test_a_call_writes_to_the_output():
    mod = _lowered(ADD + f"def @main(%a: {TENSOR}) -> {TENSOR} {{ call_lowered(@add, (%a, %a)) }}")

    @T.prim_func
    def expected(a: T.handle, output: T.handle):
        T.func_attr(
            {
                "global_symbol": "test___tvm_main__",
                "runner_function": True,
                "target": T.target({"kind": "llvm", "tag": "", "keys": ["cpu"]}),
                "input_vars": [a],
                "output_vars": [output],
                "devices": [],
            }
        )
        a_buffer = T.match_buffer(a, [5, 7], dtype="float32", align=16)
        output_buffer = T.match_buffer(output, [5, 7], dtype="float32", align=16)
        T.evaluate(
            T.tvm_check_return(
                0,
                -1,
                T.call_extern("add", a_buffer.data, a_buffer.data, output_buffer.data, dtype="int32"),
                dtype="int32",
            )
        )

    tvm.ir.assert_structural_equal(mod["__tvm_main__"], expected)
    assert "main" not in [var.name_hint for var in mod.get_global_vars()]


@pytest.mark.parametrize(
    ("call_type", "call"),
    [
        (CallType.Packed, 'T.tvm_check_return(0, -1, T.call_packed("add", a_buffer.data, sid_3, output_buffer.data))'),
        (
            CallType.CPacked,
            'T.call_cpacked("add", a_buffer.data, sid_3, output_buffer.data, T.reinterpret("handle", T.uint64(0)))',
        ),
        (
            CallType.Unpacked,
            'T.tvm_check_return(0, -1, T.call_extern("int32", "add", a_buffer.data, sid_3, output_buffer.data))',
        ),
    ],
)
def test_intermediate_results_have_memory_and_calls_have_a_convention(call_type, call):
    mod = _lowered(
        PAIR + ADD + f"def @main(%a: {TENSOR}) -> {TENSOR}"
        " { let %p = call_lowered(@pair, (%a,)); call_lowered(@add, (%a, %p.1)) }",
        call_type,
    )
    statements = _statements(mod)
    assert statements[:2] == [
        'sid_2 = T.allocate([140], "int8", "global.workspace")',
        'sid_1 = T.allocate([140], "int8", "global.workspace")',
    ]
    assert statements[-1] == call.replace("sid_3", "sid_2")


def test_constants_are_part_of_the_function():
    statements = _statements(
        _lowered(ADD + f"def @main(%a: {TENSOR}) -> {TENSOR} {{ call_lowered(@add, (%a, meta[relay.Constant][0])) }}")
    )
    assert statements[0].startswith("constant_0 = T.allocate_const([1.0, 1.0")
    assert "a_buffer.data, constant_0, output_buffer.data" in statements[1]


def test_results_that_are_inputs_constants_or_each_other_are_copied():
    mod = _lowered(
        PAIR + f"def @main(%a: {TENSOR}) -> ({TENSOR}, {TENSOR}, {TENSOR})"
        " { let %p = call_lowered(@pair, (%a,)); (%a, %p.0, %p.0) }"
    )
    text = mod["__tvm_main__"].script()
    assert text.count("for i in range(140)") == 2
    assert "where={tmp_read: a_buffer.data}" in text
    assert "where={tmp_read: output1_buffer.data}" in text
    assert 'tmp_write: T.handle("uint8", "global") = output2_buffer.data' in text


def test_only_calls_of_lowered_functions_are_taken():
    with pytest.raises(BuildError, match="may only call lowered functions, with call_lowered"):
        _lowered(f"def @main(%a: {TENSOR}) -> {TENSOR} {{ exp(%a) }}")
    with pytest.raises(BuildError, match="If needs the virtual machine"):
        _lowered(f"def @main(%a: {TENSOR}, %c: bool) -> {TENSOR} {{ if (%c) {{ %a }} else {{ %a }} }}")


def test_metadata_of_functions_counts_workspace_constants_and_buffers():
    mod = _lowered(
        ADD + f"def @main(%a: {TENSOR}) -> {TENSOR}"
        " { %0 = call_lowered(@add, (%a, meta[relay.Constant][0])); call_lowered(@add, (%0, %a)) }"
    )
    infos = CreateFunctionMetadata(mod, 16, 1)
    info = infos["__tvm_main__"]
    assert [list(sizes.values()) for sizes in (info.workspace_sizes, info.io_sizes, info.constant_sizes)] == [
        [144],
        [280],
        [140],
    ]
    assert list(info.tir_primfuncs.values()) == [mod["__tvm_main__"]]
    assert not info.relay_primfuncs


def test_metadata_of_the_executor_names_inputs_and_outputs():
    mod = _lowered(ADD + f"def @main(%a: {TENSOR}, %b: {TENSOR}) -> {TENSOR} {{ call_lowered(@add, (%a, %b)) }}")
    main = mod["__tvm_main__"]
    data = CreateExecutorMetadata(mod, "test", Executor("aot", {"unpacked-api": True, "interface-api": "c"}), 16, 1)
    assert list(data.inputs) == list(main.params[:2])
    assert list(data.outputs) == ["output"]
    assert [tuple(map(int, t.shape)) for t in data.input_tensor_types] == [(5, 7), (5, 7)]
    assert (data.executor, data.mod_name, data.interface_api, data.unpacked_api) == ("aot", "test", "c", True)
    assert (data.workspace_alignment, data.constant_alignment) == (16, 1)
    assert not data.pools
    assert not data.devices
