"""The names of LLVM's intrinsics."""

from __future__ import annotations

import re
from functools import cache

from compiler.runtime.llvm import binding

_NAME = r"llvm(\.[A-Za-z0-9_]+)+"
_JUDGED_BY_PARAMETERS = (
    r"llvm\.(x86\.(avx2|avx10|avx512)\.vpdp[bw][su]{1,2}ds?\.(128|256|512)"
    r"|x86\.avx512bf16\.(cvtne2?ps2bf16|dpbf16ps|mask\.cvtneps2bf16)\.(128|256|512)"
    r"|x86\.avx512\.(broadcastm[bw]|mask\.cmp\.p[ds])\.(128|256|512)"
    r"|x86\.(avx\.dp\.ps\.256|avx2\.mpsadbw|xop\.vpermil2p[ds](\.256)?)"
    r"|x86\.sse41\.(dppd|dpps|insertps|mpsadbw|ptestn?z?c?)"
    r"|riscv\.(aes32[de]smi|aes32[de]si|sm4ed|sm4ks)"
    r"|nvvm\.(fma|fmax|fmin|neg)\.[a-z.]*bf16(x2)?|nvvm\.mapa\.shared\.cluster|nvvm\.cp\.async\.bulk\.[a-z0-9.]+"
    r"|arm\.mve\.vctp64|dbg\.label|experimental\.vector\.extract\.last\.active)"
)
"""Intrinsics that LLVM has had with other parameters: it looks at those of a declaration, and ends the process at one
that has none."""


@cache
def has_intrinsic(name: str) -> bool:
    """Return whether LLVM has an intrinsic, named with its overloaded types (``llvm.fma.f32``) or without."""
    if re.fullmatch(_NAME, name) is None:
        return False
    if re.fullmatch(_JUDGED_BY_PARAMETERS, name):
        return True
    # No intrinsic returns this type, and LLVM checks the types of those that it has.
    call = f"declare [3 x i7] @{name}()\ndefine void @f() {{\n  %x = call [3 x i7] @{name}()\n  ret void\n}}\n"
    try:
        binding.parse_assembly(call).verify()
    except RuntimeError:
        return True
    return False
