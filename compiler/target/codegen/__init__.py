"""What code generation knows about machines, under TVM's names: ``tvm.target.codegen``."""

from __future__ import annotations

from compiler.runtime.native_code import host_cpu, host_triple
from compiler.target.target import Target, TargetLike

__all__ = ["llvm_get_system_cpu", "llvm_get_system_triple", "llvm_get_vector_width"]


def llvm_get_vector_width(target: TargetLike | None = None) -> int:
    """Return the width in bits of the widest vectors that code for a target uses.

    Parameters
    ----------
    target : Target, str or dict, optional
        The current target, else this machine, when left out.

    Returns
    -------
    int
        0 for a target without vectors.
    """
    return Target.target_or_current(target).vector_bits


def llvm_get_system_cpu() -> str:
    """Return LLVM's name for this machine's CPU.

    Returns
    -------
    str
        Such as ``cascadelake``.
    """
    return host_cpu()


def llvm_get_system_triple() -> str:
    """Return LLVM's triple for this machine: architecture, vendor and system.

    Returns
    -------
    str
        Such as ``x86_64-unknown-linux-gnu``.
    """
    return host_triple()
