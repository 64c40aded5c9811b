"""Kernels become functions of their own, which their host launches."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call, StringImm
from compiler.ir.function import GlobalVar
from compiler.ir.module import IRModule
from compiler.target.target import Target
from compiler.tir.expressions.builtin import CALL_EXTERN, CALL_PACKED
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AssertStmt, AttrStmt
from compiler.tir.transform import AnnotateDeviceRegions, BindTarget, LowerDeviceKernelLaunch, SplitHostDevice
from tests.compiler.tir.transform.programs import nodes, program

GPU = Target("cuda", host="llvm")
KERNEL = """
A_1 = T.Buffer((64,), 'int32', data=A.data)
with T.launch_thread("blockIdx.x", n) as bx:
    with T.launch_thread("threadIdx.x", 8) as tx:
        C[bx * 8 + tx] = A_1[bx * 8 + tx] + n
"""


def split(text: str, target: Target = GPU) -> IRModule:
    mod = BindTarget(target)(IRModule({"main": program(text)}))
    return SplitHostDevice()(AnnotateDeviceRegions()(mod))  # type: ignore[no-any-return]


def calls(func: PrimFunc, *ops: Any) -> list[Call]:
    return [call for call in nodes(func, Call) if call.op in ops or (isinstance(call.op, GlobalVar) and not ops)]


def test_a_region_is_marked_with_the_target_without_its_host() -> None:
    mod = AnnotateDeviceRegions()(BindTarget(GPU)(IRModule({"main": program(KERNEL)})))
    marks = [attr for attr in nodes(mod["main"], AttrStmt) if attr.attr_key == "target"]
    assert [mark.node for mark in marks] == [Target("cuda")]
    with pytest.raises(LoweringError, match="Require the target attribute"):
        AnnotateDeviceRegions()(IRModule({"main": program(KERNEL)}))
    alone = BindTarget(Target("cuda"))(IRModule({"main": program(KERNEL)}))
    assert AnnotateDeviceRegions()(alone)["main"] is alone["main"]


def test_a_region_becomes_a_kernel_with_what_it_uses_as_parameters() -> None:
    mod = split(KERNEL)
    kernel = mod["main_kernel"]
    assert [param.name for param in kernel.params] == ["A", "C", "n"]
    assert kernel.buffer_map == {}
    assert kernel.attrs == {"target": Target("cuda"), "tir.noalias": True, "tir.is_global_func": True}
    (call,) = calls(mod["main"])
    assert [arg.name for arg in call.args] == ["A", "C", "n"]
    assert not set(call.args).intersection(kernel.params)
    assert not [attr for attr in nodes(mod["main"], AttrStmt) if attr.attr_key == "thread_extent"]


def test_each_kernel_has_a_name_of_its_own() -> None:
    mod = split(
        """
        with T.launch_thread("threadIdx.x", 8) as tx:
            C[tx] = n
        with T.launch_thread("threadIdx.x", 8) as tx:
            C[tx] = A[tx]
        """
    )
    assert sorted(var.name_hint for var in mod.functions) == ["main", "main_kernel", "main_kernel_1"]
    assert [param.name for param in mod["main_kernel_1"].params] == ["A", "C"]


def test_a_kernel_for_a_cpu_says_whether_it_succeeded() -> None:
    mod = split(KERNEL, Target("llvm", host="llvm"))
    (check,) = nodes(mod["main"], AssertStmt)
    assert check.message.value == "Error executing compute kernel"
    assert "return 0" in str(mod["main_kernel"])
    assert str(mod["main_kernel"].ret_type) == "T.int32"


def test_a_launch_states_the_extents_of_threads_and_the_bytes_of_shared_memory() -> None:
    text = KERNEL.replace(
        'with T.launch_thread("blockIdx.x"',
        'sh = T.allocate((n, 4), "float32", "shared.dyn")\nwith T.launch_thread("blockIdx.x"',
        1,
    )
    inside = 'with T.launch_thread("blockIdx.y", 1) as by:\n' + "\n".join("    " + line for line in text.splitlines())
    mod = split(inside)
    host = BindTarget(Target("llvm"))
    mod = IRModule(
        {
            "main": host(IRModule({"main": mod["main"].without_attr("target")}))["main"],
            mod.get_global_var("main_kernel"): mod["main_kernel"],
        }
    )
    lowered = LowerDeviceKernelLaunch()(mod)
    kernel = lowered["main_kernel"]
    axes = ["blockIdx.y", "blockIdx.x", "threadIdx.x"]
    assert kernel.attrs["tir.kernel_launch_params"] == [*axes, "tir.use_dyn_shared_memory"]
    assert kernel.attrs["calling_conv"] == 2
    (call,) = calls(lowered["main"], CALL_PACKED)
    assert isinstance(call.args[0], StringImm)
    assert call.args[0].value == "main_kernel"
    assert [str(arg) for arg in call.args[4:]] == ["1", "n", "8", "n * 4 * 4"]


def test_calls_between_kinds_for_one_device_are_calls_of_symbols() -> None:
    mod = split(KERNEL, Target("llvm", host="llvm"))
    functions = dict(mod.items())
    functions[mod.get_global_var("main_kernel")] = mod["main_kernel"].with_attr("target", Target("c"))
    (call,) = calls(LowerDeviceKernelLaunch()(IRModule(functions))["main"], CALL_EXTERN)
    assert call.dtype == "int32"
    assert len(calls(LowerDeviceKernelLaunch()(mod)["main"])) == 1


def test_dynamic_shared_memory_is_allocated_once() -> None:
    twice = split(
        """
        with T.launch_thread("threadIdx.x", 8) as tx:
            a = T.allocate((8,), "int32", "shared.dyn")
            b = T.allocate((8,), "int32", "shared.dyn")
            C[tx] = n
        """
    )
    with pytest.raises(LoweringError, match="several allocations of dynamic shared memory"):
        LowerDeviceKernelLaunch()(twice)
