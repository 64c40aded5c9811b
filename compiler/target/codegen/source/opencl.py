"""OpenCL C 1.2."""

from __future__ import annotations

from compiler.target.codegen.source.built_ins import OPENCL_FUNCTIONS
from compiler.target.codegen.source.c import BINARY, C_KEYWORDS, UNARY, C
from compiler.target.codegen.source.device import DeviceRules, Head, Kernel, KernelParameter, VectorRules
from compiler.target.codegen.source.language import Language, Spelling

_TYPES = {
    "bool": "bool", "int8": "char", "int16": "short", "int32": "int", "int64": "long",
    "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "uint64": "ulong",
    "float16": "half", "float32": "float", "float64": "double", "handle": "void*", "void": "void",
}  # fmt: skip
_SPACES = {"global": "__global ", "shared": "__local ", "shared.dyn": "__local "}
_SHARED = "__local __attribute__((aligned(16))) {type} {name}[{count}];"
_WORDS = (
    "__global __local __private __constant __kernel global local private constant kernel uchar ushort uint ulong "
    "half size_t ptrdiff_t event_t sampler_t image1d_t image2d_t image3d_t read_only write_only read_write "
    "barrier min max get_group_id get_local_id vload2 vload4 vload8 vstore2 vstore4 vstore8 complex imaginary "
    "pipe rint"
)


def _head(kernel: Kernel) -> Head:
    x, y, z = kernel.threads or (0, 0, 0)
    size = f"__attribute__((reqd_work_group_size({x}, {y}, {z}))) " if kernel.threads else ""
    parameters = ", ".join(_parameter(each, kernel.noalias) for each in kernel.parameters)
    return Head(f"__kernel {size}void {kernel.symbol}({parameters}) {{")


def _parameter(p: KernelParameter, noalias: bool) -> str:
    if not p.is_pointer:
        return f"{p.type} {p.name}"
    return f"__global {'' if p.is_written else 'const '}{p.type}*{' restrict' if noalias else ''} {p.name}"


def _functions() -> dict[str, str]:
    """Return the built-in functions, which are overloaded for all floating-point types."""
    plain = {f"tir.{name}": f"{name}({{0}})" for name in UNARY}
    return {
        **plain,
        **{f"tir.{name}": f"{name}({{0}}, {{1}})" for name in BINARY},
        "tir.nearbyint": "rint({0})",
        "tir.fma": "fma({0}, {1}, {2})",
        "tir.exp10": "exp10({0})",
        "tir.rsqrt": "rsqrt({0})",
        "tir.sigmoid": "(1 / (1 + exp(-({0}))))",
        "tir.fmaximum": "fmaximum_{t}({0}, {1})",
        "tir.fminimum": "fminimum_{t}({0}, {1})",
        "tir.isnan": "isnan({0})",
    }


OPENCL = Language(
    name="opencl",
    prologue=(),
    types=_TYPES,
    requirements={
        "half": "#pragma OPENCL EXTENSION cl_khr_fp16 : enable",
        "double": "#pragma OPENCL EXTENSION cl_khr_fp64 : enable",
    },
    suffixes={"float32": "f", "uint32": "u", "int64": "L", "uint64": "UL"},
    literals={
        "inf": "INFINITY",
        "-inf": "(-INFINITY)",
        "nan": "NAN",
        str(-(1 << 31)): "INT_MIN",
        str(-(1 << 63)): "LONG_MIN",
    },
    functions=_functions(),
    double_functions=_functions(),
    intrinsics={"Min": "min({0}, {1})", "Max": "max({0}, {1})", "tir.atomic_add": "atomic_add({0}, {1})"},
    operators=C.operators,
    helpers=C.helpers,
    reserved=C.reserved | frozenset(C_KEYWORDS.split()) | frozenset(_WORDS.split()) | set(_TYPES.values()),
    spelling=Spelling(reinterpret="as_{type}({value})", unrolled="#pragma unroll", extern=""),
    built_in=OPENCL_FUNCTIONS,
    device=DeviceRules(
        head=_head,
        axes={
            f"{axis}.{'xyz'[number]}": f"{function}({number})"
            for axis, function in (("blockIdx", "get_group_id"), ("threadIdx", "get_local_id"))
            for number in range(3)
        },
        memory={
            "local": "__attribute__((aligned(16))) {type} {name}[{count}];",
            "shared": _SHARED,
            "shared.dyn": _SHARED,
        },
        barriers=dict.fromkeys(("shared", "shared.dyn", "warp"), "barrier(CLK_LOCAL_MEM_FENCE);"),
        pointers=_SPACES,
        vectors=VectorRules(
            types={name: spelled for name, spelled in _TYPES.items() if name not in ("bool", "handle", "void")},
            lanes=(2, 4, 8),
            load="vload{lanes}(0, {pointer})",
            store="vstore{lanes}({value}, 0, {pointer});",
        ),
        stored={"bool": "int8"},
    ),
)
"""The definition of the language."""
