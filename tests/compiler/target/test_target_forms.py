"""The forms that targets are given in: tags, dictionaries, JSON, hosts, functions for families of devices."""

from __future__ import annotations

import json
import re

import pytest

import compiler as tvm
from compiler import target as t
from compiler.ir.error import ArgumentError, TargetError
from compiler.target.target import Target

_CONFIG = {
    "kind": "llvm",
    "keys": ["arm_cpu", "cpu"],
    "device": "arm_cpu",
    "libs": ["cblas"],
    "system-lib": True,
    "mfloat-abi": "hard",
    "mattr": ["+neon", "-avx512f"],
}


@pytest.mark.parametrize("config", [_CONFIG, json.dumps(_CONFIG), str(Target(_CONFIG)), Target(_CONFIG).export()])
def test_one_target_in_four_forms(config: object) -> None:
    target = Target(config)  # type: ignore[arg-type]
    assert (target.kind, target.keys, target.device_name) == ("llvm", ["arm_cpu", "cpu"], "arm_cpu")
    assert (target.libs, target.mattr, target.attrs["mfloat-abi"]) == (["cblas"], ["+neon", "-avx512f"], "hard")
    assert "-system-lib=1" in str(target)
    assert target == Target(_CONFIG)


def test_texts_with_spaces_are_quoted() -> None:
    target = Target("vulkan -device_name='Name of a GPU' -device_type=discrete")
    assert (target.attrs["device_name"], target.attrs["device_type"]) == ("Name of a GPU", "discrete")
    assert Target(str(target)).attrs == target.attrs


def test_devices_of_this_machine_have_targets() -> None:
    here = Target.from_device("cpu")
    assert here == Target.from_device(tvm.cpu()) == Target("llvm -mcpu=native")
    with pytest.raises(TargetError, match=r"cannot detect opencl\(0\)"):
        Target.from_device("opencl")
    with pytest.raises(ArgumentError, match="got 'nonsense'"):
        Target.from_device("nonsense")


def test_tags_stand_for_machines() -> None:
    nano = Target("nvidia/jetson-nano")
    assert (nano.kind, nano.arch, nano.tag, nano.attrs["registers_per_block"]) == (
        "cuda", "sm_53", "nvidia/jetson-nano", 32768,
    )  # fmt: skip
    assert nano.attrs["shared_memory_per_block"] == nano.max_shared_memory_per_block == 49152
    assert "nvidia/geforce-rtx-2080-ti" in t.list_tags()
    made = t.register_tag("test/board", {"kind": "llvm", "mcpu": "cortex-a72", "mtriple": "aarch64-linux-gnu"})
    assert Target("test/board") == made
    assert Target("test/board").mcpu == "cortex-a72"
    with pytest.raises(ArgumentError, match="a new tag"):
        t.register_tag("test/board", {"kind": "llvm"})
    t.register_tag("test/board", {"kind": "llvm"}, override=True)
    assert Target("test/board").mcpu == ""


def test_all_tags_are_targets() -> None:
    for name, target in t.list_tags().items():
        assert target.tag == name
        assert Target(target.export()) == target


@pytest.mark.parametrize(
    ("target", "host"),
    [
        ("cuda --host llvm", None),
        ("cuda -host=llvm", None),
        ("cuda", "llvm"),
        ({"kind": "cuda", "host": {"kind": "llvm"}}, None),
        (Target("cuda", "c"), Target("llvm")),
    ],
)
def test_hosts(target: object, host: object) -> None:
    made = Target(target, host)  # type: ignore[arg-type]
    assert made.host is not None
    assert (made.kind, made.host.kind) == ("cuda", "llvm")
    assert Target(made).host == made.host
    assert Target(made.export()).host == made.host
    assert made.with_host("c").host == Target("c")


def test_target_and_host_together() -> None:
    check = Target.check_and_update_host_consist
    assert check(None) == (None, None)
    target, host = check(Target("cuda", "llvm"))
    assert (target, host) == (Target("cuda"), Target("llvm"))
    with pytest.raises(AssertionError, match="Target host is not empty when target is empty"):
        check(None, "llvm")
    with pytest.raises(ValueError, match="target host has to be a string or dictionary"):
        Target("cuda", 12.5)  # type: ignore[arg-type]


def test_several_devices() -> None:
    target = Target("composite --host=llvm --devices=cuda,opencl")
    assert [device.kind for device in target.attrs["devices"]] == ["cuda", "opencl"]


def test_families_of_devices() -> None:
    assert str(Target("cuda -model=unknown -libs=cublas,cudnn")) == str(t.cuda(options="-libs=cublas,cudnn"))
    for made, name in ((t.mali(), "mali"), (t.intel_graphics(), "intel_graphics"), (t.bifrost(), "bifrost")):
        assert (made.kind, made.device_name, made.keys[0]) == ("opencl", name, name)
    board = t.arm_cpu("rasp4b64", options=["-mcpu=cortex-a76", "-num-cores=2"])
    assert (board.model, board.mcpu, board.num_cores) == ("bcm2711", "cortex-a76", 2)
    assert board.triple == "aarch64-linux-gnu"
    assert t.rasp() == t.arm_cpu("rasp3b")
    assert t.create("llvm -mcpu=haswell").cpu == "haswell"
    others = (t.rocm(), t.vta(), t.hexagon(), t.micro("nrf52840"), t.stm32(), t.riscv_cpu(), t.adreno(), t.opengl())
    assert [made.kind for made in others] == ["rocm", "ext_dev", "hexagon", "c", "c", "llvm", "opencl", "opencl"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"kind": "llvm", "libs": {"a": "b"}}, "-libs must be a comma-separated list"),
        ({"kind": "llvm", "mcpu": ["a"]}, "-mcpu must be a text"),
        ({"kind": "llvm", "arch": "sm_50"}, "unknown option -arch"),
        ('{"kind": "llvm",', "line 1, column"),
        ("cuda -max_num_threads=many", "-max_num_threads must be a number"),
        ({"mcpu": "haswell"}, "unknown kind ''"),
        ("znver4", "'znver4'; did you mean 'llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver4'?"),
        ("aarch64", "'aarch64'; did you mean 'llvm -mtriple=aarch64-unknown-linux-gnu'?"),
    ],
)
def test_what_does_not_fit(config: object, message: str) -> None:
    with pytest.raises(TargetError, match=re.escape(message)):
        Target(config)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "value"), [("True", True), ("true", True), ("1", True), ("False", False), ("0", False)]
)
def test_truth_values(text: str, value: bool) -> None:
    assert Target(f"llvm --link-params={text}").attrs["link-params"] == value


def test_variants_of_functions() -> None:
    @t.generic_func
    def factor(n: int) -> int:
        """How much."""
        return n

    @factor.register(["cuda", "gpu"])
    def on_gpu(n: int) -> int:
        return 10 * n

    @factor.register("mali")
    def on_mali(n: int) -> int:
        return 100 * n

    assert factor(1) == on_mali(1) // 100 == 1
    for target, expected in (("cuda", 10), ("metal", 10), ("llvm", 1)):
        with Target(target):
            assert factor(1) == expected
    with t.mali():
        assert factor(1) == 100
    assert factor.__doc__ == "How much."
    with pytest.raises(ArgumentError, match="has a variant already"):
        factor.register(on_gpu, "gpu")
    factor.register(on_mali, "gpu", allow_override=True)
    with Target("vulkan"):
        assert factor(1) == 100


def test_functions_by_name() -> None:
    native = t.get_native_generic_func("test.native")
    with pytest.raises(ArgumentError, match="no variant for no target"):
        native()

    @t.override_native_generic_func("test.native")
    def default() -> str:
        return "default"

    assert default is native
    assert native() == "default"


@pytest.mark.parametrize(("kind", "shared"), [("opencl", 16384), ("metal", 32768), ("rocm", 65536)])
def test_devices_have_the_shared_memory_and_the_names_of_their_kinds(kind, shared):
    assert Target(kind).max_shared_memory_per_block == shared
    assert str(getattr(tvm, kind)(1)) == f"{kind}(1)"
    assert not getattr(tvm, kind)(0).exist
    assert not tvm.runtime.enabled(kind)


def test_hexagon_has_vectors_unless_they_are_left_out() -> None:
    usual = t.hexagon("v69", hvx=64, use_ieee_fp=True, llvm_options="-x=1")
    assert list(usual.attrs["mattr"]) == ["+hvxv69", "+hvx-length64b", "+hvx-qfloat", "+hvx-ieee-fp"]
    assert list(usual.attrs["llvm-options"]) == ["-x@1", "-force-hvx-float"]
    assert "mattr" not in t.hexagon("v68", hvx=0).attrs
    with pytest.raises(ArgumentError, match="cpu_ver must be one of v65"):
        t.hexagon("v60")


def test_a_device_is_given_by_its_name() -> None:
    assert t.Target.from_device(device="cpu").kind == "llvm"
