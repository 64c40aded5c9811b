"""Queries of code generation about targets: ``tvm.target.codegen``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.error import ArgumentError
from compiler.ir.extension import public_module
from compiler.runtime.llvm import binding
from compiler.runtime.modules.llvm_intrinsics import has_intrinsic
from compiler.runtime.modules.native_code import host_cpu, host_triple
from compiler.target.cpu.cpus import TRIPLES, cpus
from compiler.target.cpu.processor_features import used_features
from compiler.target.target import Target, TargetLike

__all__ = [
    "llvm_cpu_has_features", "llvm_get_cpu_archlist", "llvm_get_cpu_features", "llvm_get_intrinsic_name",
    "llvm_get_system_cpu", "llvm_get_system_triple", "llvm_get_system_x86_vendor", "llvm_get_targets",
    "llvm_get_vector_width", "llvm_lookup_intrinsic_id", "llvm_version_major", "target_has_features",
]  # fmt: skip
if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.target.codegen", tuple(__all__))


def llvm_get_vector_width(target: TargetLike | None = None) -> int:
    """Return the bits of the widest vector registers that code for a target uses; 0 without vectors."""
    return Target.target_or_current(target).vector_bits


def llvm_get_system_cpu() -> str:
    """Return LLVM's name for this machine's CPU."""
    return host_cpu()


def llvm_get_system_triple() -> str:
    """Return LLVM's target triple of this machine, such as ``x86_64-unknown-linux-gnu``."""
    return host_triple()


def llvm_version_major(allow_none: bool = False) -> int:
    """Return the major version of LLVM, which is always there."""
    return int(binding.llvm_version_info[0])


def llvm_get_targets() -> list[str]:
    """Return the architectures for which LLVM generates code, such as ``x86_64`` and ``aarch64``."""
    binding.initialize_all_targets()
    names = ("aarch64", "arm", "i386", "mips", "ppc64le", "riscv32", "riscv64", "wasm32", "x86_64")
    targets = []
    for name in names:
        try:
            binding.Target.from_triple(f"{name}-unknown-unknown")
        except RuntimeError:
            continue
        targets.append(name)
    return targets


def target_has_features(cpu_features: str | list[str], target: TargetLike | None = None) -> bool:
    """Return whether a target's processor, by default the current one's, has features such as ``avx2``."""
    asked = [cpu_features] if isinstance(cpu_features, str) else cpu_features
    return set(asked) <= set(llvm_get_cpu_features(target))


def llvm_get_cpu_features(target: TargetLike | None = None) -> list[str]:
    """Return LLVM's names of the features of a target's processor: those that the target names, and detected ones."""
    made = Target.target_or_current(target)
    stated = [feature for feature in made.llvm_features.split(",") if feature]
    present = used_features(made.triple, made.cpu, made.llvm_features) | {f[1:] for f in stated if f[0] == "+"}
    return sorted(present - {f[1:] for f in stated if f[0] == "-"})


def llvm_cpu_has_features(cpu_features: str | list[str], target: TargetLike | None = None) -> bool:
    """Return whether a target's processor has features, as :func:`target_has_features` does."""
    return target_has_features(cpu_features, target)


def llvm_get_cpu_archlist(target: TargetLike | None = None) -> list[str]:
    """Return the processors of a target's architecture that LLVM knows."""
    architecture = Target.target_or_current(target).triple.split("-")[0].replace("arm64", "aarch64")
    return list(cpus(architecture)) if architecture in TRIPLES else []


def llvm_get_system_x86_vendor() -> str:
    """Return the vendor of this machine's x86 processor."""
    cpu = host_cpu()
    if not host_triple().startswith("x86"):
        return "unknown"
    return "amd" if cpu.startswith(("znver", "bdver", "btver", "amdfam", "k8", "athlon", "opteron")) else "intel"


_INTRINSICS: list[str] = [""]
"""The intrinsics that were looked up, by their numbers; llvmlite does not export LLVM's own numbering."""


def llvm_lookup_intrinsic_id(name: str) -> int:
    """Return the id of an LLVM intrinsic such as ``llvm.fma``, constant within a process; 0 if there is none."""
    if not has_intrinsic(name):
        return 0
    if name not in _INTRINSICS:
        _INTRINSICS.append(name)
    return _INTRINSICS.index(name)


def llvm_get_intrinsic_name(intrin_id: int) -> str:
    """Return the name of the LLVM intrinsic that :func:`llvm_lookup_intrinsic_id` gave an id.

    Raises ArgumentError if no intrinsic has this id.
    """
    if not 0 < intrin_id < len(_INTRINSICS):
        raise ArgumentError(f"llvm_get_intrinsic_name: there is no intrinsic with id {intrin_id}")
    return _INTRINSICS[intrin_id]
