"""What a target's processor can do, as LLVM knows it by the CPU's name."""

import pytest

import compiler as tvm
from compiler.classic.target.x86 import get_simd_32bit_lanes
from compiler.target import codegen
from compiler.target.target import Target


@pytest.mark.parametrize(
    ("cpu", "lanes", "has", "lacks"),
    [
        ("nehalem", 4, ["sse4.1", "sse4.2", "popcnt"], ["avx"]),
        ("haswell", 8, ["avx2", "fma", "f16c", "bmi2"], ["avx512f"]),
        ("cascadelake", 16, ["avx512bw", "avx512vl", "avx512vnni"], ["avxvnni", "avx512bitalg"]),
    ],
)
def test_features_follow_from_the_cpu(cpu, lanes, has, lacks):
    with Target(f"llvm -mtriple=x86_64-- -mcpu={cpu}"):
        assert get_simd_32bit_lanes() == lanes
        assert codegen.target_has_features(has)
        assert not any(codegen.llvm_cpu_has_features(feature) for feature in lacks)


def test_what_a_target_states_goes_first():
    target = Target("llvm -mtriple=x86_64-- -mcpu=haswell -mattr=-fma,+amx-int8")
    assert "fma" not in codegen.llvm_get_cpu_features(target)
    assert codegen.target_has_features(["avx2", "amx-int8"], target)
    assert "haswell" in codegen.llvm_get_cpu_archlist(target)


def test_arms_processors_tell_their_features_as_attributes():
    plain = Target("llvm -mtriple=aarch64-linux-gnu").features
    assert (plain.is_aarch64, plain.has_asimd, plain.has_sve, plain.has_dotprod) == (True, True, False, False)
    newer = Target("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a710").features
    assert (newer.has_sve, newer.has_matmul_i8, newer.has_fp16_simd, newer.has_sme) == (True, True, True, False)
    assert Target("llvm -mtriple=armv8a-linux-gnueabihf").features.has_asimd
    assert Target("llvm -mtriple=x86_64--").features.has_sve is None
    assert not Target("llvm -mtriple=aarch64-linux-gnu -mattr=+v9a,+nosve").features.has_sve


@pytest.mark.parametrize(
    ("cpu", "has_dsp", "has_mve"),
    [
        ("cortex-m3", False, False),
        ("cortex-m33", True, False),
        ("cortex-m33+nodsp", False, False),
        ("cortex-m55", True, True),
        ("cortex-m55+nomve", True, False),
    ],
)
def test_the_m_profile_is_known_by_its_names(cpu, has_dsp, has_mve):
    for kind in ("c", "llvm"):
        target = Target(f"{kind} -mcpu={cpu}")
        assert target.keys == ["arm_cpu", "cpu"]
        assert (target.features.has_dsp, target.features.has_mve) == (has_dsp, has_mve)
    assert Target("llvm -mcpu=cortex-m55 -mattr=+nodsp").features.has_dsp is False
    made = Target("llvm -mtriple=thumbv8m.main-none-eabi -mcpu=cortex-m33+nodsp")
    assert (made.cpu, made.llvm_features) == ("cortex-m33", "-dsp")


def test_targets_of_tests_have_a_feature():
    assert Target("test").features.is_test
    assert not Target("cuda").features.is_test


def test_targets_with_their_hosts():
    assert [str(target.kind) for target in Target.canon_multi_target(["llvm", "cuda"])] == ["llvm", "cuda"]
    assert [str(target.host.kind) for target in Target.canon_multi_target_and_host("cuda", "llvm")] == ["llvm"]
    targets, host = Target.canon_target_map_and_host({"cuda": "first", "llvm": "second"}, "llvm")
    assert {str(target.kind): name for target, name in targets.items()} == {"cuda": "first", "llvm": "second"}
    assert all(target.host == host for target in targets)
    assert tvm.target.TargetKind.options_from_name("llvm")["mcpu"] == "str"


def test_any_arm_triple_belongs_to_arms_targets():
    for triple in ("aarch64-linux-gnu", "armv7l-linux-gnueabihf", "arm64-apple-macos"):
        assert Target(f"llvm -mtriple={triple}").keys == ["arm_cpu", "cpu"]
    assert Target("llvm -keys=mine -mtriple=aarch64-linux-gnu").keys == ["mine", "arm_cpu", "cpu"]
    assert Target("nvidia/jetson-agx-xavier").host.keys == ["arm_cpu", "cpu"]


def test_a_composite_target_takes_mappings():
    made = Target({"kind": "composite", "devices": ["llvm", {"kind": "cuda", "arch": "sm_80"}]})
    assert [(device.kind.name, device.arch) for device in made.attrs["devices"]] == [("llvm", ""), ("cuda", "sm_80")]
    assert "mcpu" in Target("llvm").kind.options
