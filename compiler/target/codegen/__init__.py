"""What code generation knows about machines, under TVM's names: ``tvm.target.codegen``."""

from __future__ import annotations

from typing import Any

from compiler.runtime.native_code import host_cpu, host_triple
from compiler.target.codegen.llvm.vector_width import vector_bits
from compiler.target.target import Target


def llvm_get_vector_width(target: Any = None) -> int:
    """Return the width in bits of the vectors that code for a target uses.

    Parameters
    ----------
    target : Target or str, optional
        The current one, else this machine's, when left out.
    """
    return vector_bits(Target(target) if target is not None else Target.current() or Target("llvm"))


def llvm_get_system_cpu() -> str:
    """Return LLVM's name for this machine's CPU."""
    return host_cpu()


def llvm_get_system_triple() -> str:
    """Return LLVM's name for this kind of machine."""
    return host_triple()


__all__ = ["llvm_get_system_cpu", "llvm_get_system_triple", "llvm_get_vector_width"]
