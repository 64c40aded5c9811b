"""A workaround for a miscompilation of LLVM 22 where AVX-512 masks are read as integers.

A comparison of vectors with AVX-512 VL sets a mask register.  If a bit of it is read as well, LLVM's last pass over
x86 code (``X86CompressEVEX``) replaces both instructions by one that moves the signs of the lanes::

    vpmovb2m  %xmm1, %k0                →
    kmovd     %k0, %edx                 →    vpmovmskb %xmm1, %edx
    kshiftrw  $1, %k0, %k0                   kshiftrw  $1, %k0, %k0

It stops looking for other uses at the first instruction that writes the register, even if that instruction also reads
it, as the shift does here: the shift then reads a stale value.  The pass cannot be disabled, but it only handles
instructions of AVX-512 VL, so the module is optimised and compiled again without these.  Where the processor prefers
vectors of 256 bits, it no longer does: only those of 512 have masks then.
"""

from __future__ import annotations

import re

from compiler.target.cpu.processor_features import used_features
from compiler.target.target import Target

_FEATURE = "avx512vl"
_READ_AS_INTEGER = (
    re.compile(r" <(?:(?<=extractelement <)|(?<=bitcast <))\d+ x i1>"),
    re.compile(r"@llvm\.(?:vector\.reduce\.\w+\.v\d+i1\(|masked\.\w+\.v\d+i(?:8|16)\b)"),
)
"""Reads of mask bits: by the program itself, or from masked accesses of small integers that are split into lanes.

Each begins with what is the same in all cases, which is found fast."""
_ATTRIBUTES = re.compile(r"^(attributes #\d+ = \{.*?)( *\})$", re.M)
_FEATURES = re.compile(r' "target-features"="[^"]*"')


def features_of_safe_masks(optimised: str, target: Target) -> str | None:
    """Return the features to compile for if LLVM could drop a mask that is still needed, None if it cannot."""
    if not target.triple.startswith(("x86_64", "i386", "i686")):
        return None
    if not any(read.search(optimised) for read in _READ_AS_INTEGER):
        return None
    if _FEATURE not in used_features(target.triple, target.cpu, target.llvm_features):
        return None
    return ",".join(part for part in (target.llvm_features, f"-{_FEATURE}", "-prefer-256-bit") if part)


def with_features(optimised: str, features: str) -> str:
    """Let all functions of a module be compiled for other features than those of the target."""
    return _ATTRIBUTES.sub(rf'\1 "target-features"="{features}"\2', _FEATURES.sub("", optimised))
