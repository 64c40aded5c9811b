"""Metal Shading Language 2."""

from __future__ import annotations

from compiler.target.codegen.source.approximations import erf_lines
from compiler.target.codegen.source.built_ins import METAL_FUNCTIONS
from compiler.target.codegen.source.c import BINARY, C_KEYWORDS, UNARY, C
from compiler.target.codegen.source.cuda import CUDA
from compiler.target.codegen.source.device import DeviceRules, Head, Kernel, KernelParameter, VectorRules
from compiler.target.codegen.source.language import Language, Spelling

_TYPES = {
    "bool": "bool", "int8": "char", "int16": "short", "int32": "int", "int64": "long",
    "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "uint64": "ulong",
    "float16": "half", "float32": "float", "handle": "void*", "void": "void",
}  # fmt: skip
_WORDS = (
    "device threadgroup thread constant kernel vertex fragment metal uchar ushort uint ulong half texture "
    "sampler threadgroup_barrier mem_flags blockIdx threadIdx as_type rint simd_shuffle simd_shuffle_up "
    "simd_shuffle_down"
)


def _head(kernel: Kernel) -> Head:
    parameters = [_parameter(each, number) for number, each in enumerate(kernel.parameters)]
    parameters += [
        "uint3 blockIdx [[threadgroup_position_in_grid]]",
        "uint3 threadIdx [[thread_position_in_threadgroup]]",
    ]
    threads = kernel.threads
    bounds = f"[[max_total_threads_per_threadgroup({threads[0] * threads[1] * threads[2]})]] " if threads else ""
    return Head(f"{bounds}kernel void {kernel.symbol}({', '.join(parameters)}) {{")


def _parameter(p: KernelParameter, number: int) -> str:
    if p.is_pointer:
        return f"device {'' if p.is_written else 'const '}{p.type}* {p.name} [[buffer({number})]]"
    return f"constant {p.type}& {p.name} [[buffer({number})]]"


_FUNCTIONS = {
    **{f"tir.{name}": f"{name}({{0}})" for name in UNARY},
    **{f"tir.{name}": f"{name}({{0}}, {{1}})" for name in BINARY if name != "hypot"},
    "tir.nearbyint": "rint({0})",
    "tir.fma": "fma({0}, {1}, {2})",
    "tir.exp10": "exp10({0})",
    "tir.log1p": "log(1.0f + ({0}))",
    "tir.hypot": "length(float2({0}, {1}))",
    "tir.rsqrt": "rsqrt({0})",
    "tir.sigmoid": "(1.0f / (1.0f + exp(-({0}))))",
    "tir.fmaximum": "fmaximum_{t}({0}, {1})",
    "tir.fminimum": "fminimum_{t}({0}, {1})",
    "tir.isnan": "isnan({0})",
    "tir.erf": "erf_{t}({0})",
}

METAL = Language(
    name="metal",
    prologue=("#include <metal_stdlib>", "using namespace metal;"),
    types=_TYPES,
    missing={"float64": "Metal has no double precision: compute in float32"},
    suffixes={"float32": "f", "uint32": "u", "int64": "L", "uint64": "UL"},
    literals={
        "inf": "INFINITY",
        "-inf": "(-INFINITY)",
        "nan": "NAN",
        str(-(1 << 31)): "INT_MIN",
        str(-(1 << 63)): "LONG_MIN",
    },
    functions=_FUNCTIONS,
    double_functions={},
    intrinsics={
        "Min": "min({0}, {1})",
        "Max": "max({0}, {1})",
        "tir.tvm_warp_activemask": "0u",  # its shuffles take no mask of threads
        "tir.tvm_warp_shuffle": "simd_shuffle({1}, {2})",
        "tir.tvm_warp_shuffle_up": "simd_shuffle_up({1}, {2})",
        "tir.tvm_warp_shuffle_down": "simd_shuffle_down({1}, {2})",
    },
    operators=C.operators,
    helpers={**C.helpers, "erf": ("{t} x", *erf_lines("float", "fabs", "sign"))},
    reserved=CUDA.reserved | frozenset(C_KEYWORDS.split()) | frozenset(_WORDS.split()),
    spelling=Spelling(reinterpret="as_type<{type}>({value})", unrolled="#pragma unroll", extern=""),
    built_in=METAL_FUNCTIONS,
    device=DeviceRules(
        head=_head,
        axes=CUDA.device.axes if CUDA.device else {},
        memory={
            "local": "alignas(16) {type} {name}[{count}];",
            "shared": "alignas(16) threadgroup {type} {name}[{count}];",
            "shared.dyn": "alignas(16) threadgroup {type} {name}[{count}];",
        },
        barriers={
            "shared": "threadgroup_barrier(mem_flags::mem_threadgroup);",
            "shared.dyn": "threadgroup_barrier(mem_flags::mem_threadgroup);",
            "warp": "simdgroup_barrier(mem_flags::mem_threadgroup);",
        },
        pointers={"global": "device ", "shared": "threadgroup ", "shared.dyn": "threadgroup ", "local": "thread "},
        vectors=VectorRules(types={name: _TYPES[name] for name in ("int32", "uint32", "float16", "float32")}),
    ),
)
"""The definition of the language."""
