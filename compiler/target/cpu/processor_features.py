"""Features of processors, detected from the instructions that LLVM generates for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from compiler.target.cpu.cpu_features import tile_features
from compiler.target.llvm_machine import emitted_for

_WIDE = '"min-legal-vector-width"="512"'


@dataclass(frozen=True)
class _Probe:
    """An expression of %x and %y, and a pattern of the instructions that reveal the feature."""

    type: str
    value: str
    instruction: str
    attributes: str = ""
    operands: str = ""
    """The type of the operands, if it differs from that of the value."""

    @property
    def declarations(self) -> list[str]:
        """The declarations of the functions that it calls."""
        called = re.findall(r"call (.+?) (@[\w.]+)\((.*)\)", self.value)
        return [f"declare {t} {name}({re.sub(r' %?[a-z0-9]+(?=,|$)', '', args)})" for t, name, args in called]

    def definition(self, name: str) -> str:
        """Return a function of that name that stores the value."""
        operands = self.operands or self.type
        return "\n".join(
            [
                f"define void @{name}(ptr %p, {operands} %x, {operands} %y) {self.attributes} {{",
                *(f"  {line}" for line in self.value.splitlines()[:-1]),
                f"  %r = {self.value.splitlines()[-1]}",
                f"  store {self.type} %r, ptr %p\n  ret void\n}}\n",
            ]
        )


def _dot(lanes: int, first: str) -> str:
    """Return the dot product of unsigned and signed bytes."""
    wide = f"<{lanes} x i32>"
    return (
        f"%a = {first} <{lanes} x i8> %x to {wide}\n%b = sext <{lanes} x i8> %y to {wide}\n%m = mul {wide} %a, %b\n"
        f"call i32 @llvm.vector.reduce.add.v{lanes}i32({wide} %m)"
    )


_X86 = {
    "ssse3": _Probe("<16 x i8>", "call <16 x i8> @llvm.abs.v16i8(<16 x i8> %x, i1 false)", "pabsb"),
    "sse4.1": _Probe("float", "call float @llvm.floor.f32(float %x)", "roundss"),
    "sse4.2": _Probe("<2 x i64>", "call <2 x i64> @llvm.smax.v2i64(<2 x i64> %x, <2 x i64> %y)", "pcmpgtq|pmaxsq"),
    "popcnt": _Probe("i32", "call i32 @llvm.ctpop.i32(i32 %x)", "popcnt"),
    "lzcnt": _Probe("i32", "call i32 @llvm.ctlz.i32(i32 %x, i1 false)", "lzcnt"),
    "bmi2": _Probe("i32", "shl i32 %x, %y", "shlx"),
    "avx": _Probe("<8 x float>", "fadd <8 x float> %x, %y", "ymm"),
    "avx2": _Probe("<8 x i32>", "add <8 x i32> %x, %y", "vpadd.*ymm"),
    "fma": _Probe("float", "call float @llvm.fma.f32(float %x, float %y, float %x)", "vfmadd"),
    "f16c": _Probe("<4 x float>", "fpext <4 x half> %x to <4 x float>", "vcvtph2ps", operands="<4 x half>"),
    "avx512f": _Probe("<16 x float>", "fadd <16 x float> %x, %y", "zmm", _WIDE),
    "avx512bw": _Probe("<64 x i8>", "add <64 x i8> %x, %y", "vpaddb.*zmm", _WIDE),
    "avx512dq": _Probe("<8 x i64>", "mul <8 x i64> %x, %y", "vpmullq", _WIDE),
    "avx512vl": _Probe("<4 x i64>", "call <4 x i64> @llvm.abs.v4i64(<4 x i64> %x, i1 false)", "vpabsq.*ymm", _WIDE),
    "avx512cd": _Probe("<16 x i32>", "call <16 x i32> @llvm.ctlz.v16i32(<16 x i32> %x, i1 false)", "vplzcntd", _WIDE),
    "avx512vpopcntdq": _Probe("<16 x i32>", "call <16 x i32> @llvm.ctpop.v16i32(<16 x i32> %x)", "vpopcntd", _WIDE),
    "avx512bitalg": _Probe("<64 x i8>", "call <64 x i8> @llvm.ctpop.v64i8(<64 x i8> %x)", "vpopcntb", _WIDE),
    "avx512vnni": _Probe("i32", _dot(64, "zext"), "vpdpbusd.*zmm", _WIDE, "<64 x i8>"),
    "avx512bf16": _Probe(
        "<16 x bfloat>", "fptrunc <16 x float> %x to <16 x bfloat>", "vcvtneps2bf16", _WIDE, "<16 x float>"
    ),
    "avx512fp16": _Probe("<32 x half>", "fadd <32 x half> %x, %y", "vaddph", _WIDE),
    "ndd": _Probe("i64", "%a = sub i64 %x, %y\nmul i64 %a, %x", r"sub.*,.*,"),
    "avxvnni": _Probe("i32", _dot(32, "zext"), r"\{vex\}\s*vpdpbusd", operands="<32 x i8>"),
}
_AARCH64 = {
    "neon": _Probe("<4 x i32>", "add <4 x i32> %x, %y", r"add\s+v\d+\.4s"),
    "fullfp16": _Probe("<8 x half>", "fadd <8 x half> %x, %y", r"fadd\s+v\d+\.8h"),
    "sve": _Probe("<8 x i32>", "add <8 x i32> %x, %y", r"\bz\d+\.s", "vscale_range(2,2)"),
    "dotprod": _Probe("i32", _dot(16, "sext"), r"sdot\s+v", operands="<16 x i8>"),
    "i8mm": _Probe("i32", _dot(16, "zext"), r"usdot\s+v", operands="<16 x i8>"),
}
_PROBES = {"x86_64": _X86, "i686": _X86, "aarch64": _AARCH64, "arm64": _AARCH64}


@cache
def used_features(triple: str, cpu: str, features: str) -> frozenset[str]:
    """Return the features that are used for a machine: those of tiles, and what LLVM's instructions reveal."""
    probes = _PROBES.get(triple.split("-")[0], {})
    return tile_features(triple, cpu, features).union(
        feature
        for (feature, probe), code in zip(probes.items(), _code(probes, triple, cpu, features), strict=True)
        if re.search(probe.instruction, code)
    )


def _code(probes: Mapping[str, _Probe], triple: str, cpu: str, features: str) -> list[str]:
    """Return the assembly of each probe; all at once, which takes LLVM half the time."""
    if not probes:
        return []
    declared = dict.fromkeys(line for probe in probes.values() for line in probe.declarations)
    defined = [probe.definition(f"probe{number}") for number, probe in enumerate(probes.values())]
    text = emitted_for("\n".join([*declared, *defined]), triple, cpu, features)
    return re.split(r"^_?probe\d+:", text, flags=re.MULTILINE)[1:]
