"""Which processors resemble each other, by the features that LLVM knows of them."""

from __future__ import annotations

import pytest

from compiler.target.cpu.cpu_lineage import ARCHITECTURES, ask_llvm, features_of_cpus, nearest_cpus
from compiler.target.cpu.cpus import TRIPLES, cpus
from compiler.target.cpu.processor_features import used_features

SEEN = {
    "x86_64": ("avx", "avx2", "fma", "avx512f", "avx512vnni", "popcnt", "sse4.1"),
    "aarch64": ("fullfp16", "dotprod", "i8mm"),
}
"""Features whose instructions are looked for in what LLVM makes for a processor."""


@pytest.mark.parametrize("architecture", [*(pytest.param(name, marks=pytest.mark.long) for name in ARCHITECTURES)])
def test_the_table_is_what_llvm_says(architecture: str) -> None:
    assert features_of_cpus(architecture) == ask_llvm(architecture)


@pytest.mark.parametrize("architecture", SEEN)
def test_a_processor_has_the_features_whose_instructions_llvm_uses_for_it(architecture: str) -> None:
    table = features_of_cpus(architecture)
    assert set(table) == set(cpus(architecture))
    for cpu in sorted(table)[::9]:
        used = used_features(TRIPLES[architecture], cpu, "")
        assert {feature for feature in SEEN[architecture] if feature in table[cpu]} == used & {*SEEN[architecture]}, cpu


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_processor_is_most_like_itself_and_like_one_other(architecture: str) -> None:
    for cpu in cpus(architecture):
        assert nearest_cpus(architecture, cpu, "", cpus(architecture))[0] == cpu
        assert nearest_cpus(architecture, cpu, "", set(cpus(architecture)) - {cpu})


@pytest.mark.parametrize(
    ("architecture", "cpu", "others", "nearest"),
    [
        ("x86_64", "emeraldrapids", {"sapphirerapids", "icelake-server", "alderlake", "znver4"}, "sapphirerapids"),
        ("x86_64", "sierraforest", {"sapphirerapids", "icelake-server", "alderlake", "znver4"}, "alderlake"),
        ("x86_64", "znver5", {"znver1", "znver2", "znver3", "znver4", "sapphirerapids"}, "znver4"),
        ("aarch64", "neoverse-v3", {"neoverse-n1", "neoverse-v1", "neoverse-v2", "cortex-a510"}, "neoverse-v2"),
        ("aarch64", "apple-m5", {"apple-m1", "apple-a7", "neoverse-n2"}, "apple-m1"),
        ("riscv64", "sifive-p670", {"sifive-p450", "sifive-p550", "sifive-u74"}, "sifive-p450"),
    ],
)
def test_generations_of_a_family_are_near(architecture: str, cpu: str, others: set[str], nearest: str) -> None:
    assert nearest_cpus(architecture, cpu, "", others)[0] == nearest


def test_features_beside_the_name_count_and_nothing_is_near_to_what_is_unknown() -> None:
    among = {"haswell", "sapphirerapids", "x86-64"}
    has = ",".join(f"+{feature}" for feature in features_of_cpus("x86_64")["emeraldrapids"])
    assert nearest_cpus("x86_64", "generic", has, among)[0] == "sapphirerapids"
    assert nearest_cpus("x86_64", "generic", "", among)[0] == "x86-64"
    assert nearest_cpus("x86_64", "abacus", "", among) == []
    assert nearest_cpus("wasm32", "generic", "", {"generic"}) == []


def test_instructions_with_a_register_of_their_own_for_the_result_are_detected() -> None:
    newest, older = (used_features(TRIPLES["x86_64"], cpu, "") for cpu in ("diamondrapids", "sapphirerapids"))
    assert "ndd" in newest - older
