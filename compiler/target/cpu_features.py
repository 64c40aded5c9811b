"""Features of a CPU that programs ask for, as LLVM knows them."""

from __future__ import annotations

from functools import cache

from llvmlite import binding

from compiler.target.llvm_machine import target_machine

__all__ = ["has_sse41"]

_FLOOR = """
target triple = "{triple}"
declare float @llvm.floor.f32(float)
define float @down(float %x) {{
  %y = call float @llvm.floor.f32(float %x)
  ret float %y
}}
"""


@cache
def has_sse41(triple: str, cpu: str, features: str) -> bool:
    """Return whether LLVM uses SSE 4.1 for a CPU.

    LLVM is asked by compiling what one of its instructions does, as no list of CPUs is ever complete.

    Parameters
    ----------
    triple, cpu, features : str
        As for :func:`~compiler.target.llvm_machine.target_machine`.

    Returns
    -------
    bool
    """
    if not triple.startswith(("x86_64", "i686")):
        return False
    module = binding.parse_assembly(_FLOOR.format(triple=triple))
    return "roundss" in str(target_machine(triple, cpu, features, 2).emit_assembly(module))
