"""The names of LLVM's intrinsics."""

from __future__ import annotations

import re
from functools import cache

from llvmlite import binding

__all__ = ["has_intrinsic"]

_NAME = re.compile(r"llvm(\.[A-Za-z0-9_]+)+")


@cache
def has_intrinsic(name: str) -> bool:
    """Return whether LLVM has an intrinsic.

    Parameters
    ----------
    name : str
        With the types that it is overloaded by or without, e.g. ``llvm.fma.f32`` or ``llvm.fma``.

    Returns
    -------
    bool
    """
    if _NAME.fullmatch(name) is None:
        return False
    # No intrinsic returns this type, and LLVM checks the types of those that it has.
    call = f"declare [3 x i7] @{name}()\ndefine void @f() {{\n  %x = call [3 x i7] @{name}()\n  ret void\n}}\n"
    try:
        binding.parse_assembly(call).verify()
    except RuntimeError:
        return True
    return False
