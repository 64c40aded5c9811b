"""What a model is built for, names of C code, and lowering without passes."""

from __future__ import annotations

import pytest

from compiler import te
from compiler.classic import build_module
from compiler.classic.relay.backend import name_transforms
from compiler.classic.relay.backend.utils import mangle_module_name
from compiler.driver.relay.options import Executor, Runtime
from compiler.ir.error import ArgumentError


def test_executors_and_runtimes_check_their_options() -> None:
    aot = Executor("aot", {"interface-api": "c", "unpacked-api": True})
    assert aot["interface-api"] == "c"
    assert aot["link-params"] is True
    assert "constant-byte-alignment" not in aot
    assert str(aot) == "aot"
    assert aot == Executor("aot", {"unpacked-api": True, "interface-api": "c"})
    assert Runtime.list_registered() == ["cpp", "crt", "c"]
    assert Executor.list_registered_options("graph") == {"link-params": "IntImm"}
    assert Executor.list_executor_options(aot)["interface-api"] == "runtime.String"
    for options, message in (
        ({"link": True}, 'Attribute "link" is not available on this Executor'),
        ({"link-params": "yes"}, 'should have type "IntImm" but instead found "runtime.String"'),
    ):
        with pytest.raises(ArgumentError, match=message):
            Executor("graph", options)
    with pytest.raises(ArgumentError, match='Runtime "rust" is not defined'):
        Runtime("rust")


@pytest.mark.parametrize(
    ("transform", "name", "result"),
    [
        ("to_c_function_style", "TVM_my_name", "TVMMyName"),
        ("to_c_variable_style", "TVM_My_Name", "tvm_my_name"),
        ("to_c_constant_style", "TVM_My_name", "TVM_MY_NAME"),
        ("prefix_name", ["a", "b"], "TVM_a_b"),
        ("prefix_generated_name", "a", "TVMGen_a"),
        ("sanitize_name", "a+b.c", "a_b_c"),
    ],
)
def test_names_of_c_code(transform: str, name: str, result: str) -> None:
    assert getattr(name_transforms, transform)(name) == result
    with pytest.raises(ArgumentError, match=transform):
        getattr(name_transforms, transform)("")


def test_a_schedule_becomes_loops_without_passes() -> None:
    A = te.placeholder((4, 4), name="A")
    B = te.compute((4, 4), lambda i, j: A[i, j] + 1.0, name="B")
    binds, parameters = build_module.get_binds([A, B])
    mod = build_module.schedule_to_module(te.create_schedule(B.op), [A, B], "add", binds)
    assert [str(var.name_hint) for var in mod.get_global_vars()] == ["add"]
    assert list(mod["add"].buffer_map.values()) == parameters == list(binds.values())
    assert "realize" in str(mod["add"].body).lower()


def test_names_of_modules_in_generated_code() -> None:
    assert [mangle_module_name(name) for name in ("default", "", None)] == ["tvmgen_default", "tvmgen", "tvmgen"]
    with pytest.raises(ValueError, match="invalid characters"):
        mangle_module_name("\u018e")
