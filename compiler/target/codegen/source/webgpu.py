"""WGSL, the language of WebGPU, which is close enough to C for the same printer."""

from __future__ import annotations

from compiler.target.codegen.source.approximations import erf_lines
from compiler.target.codegen.source.built_ins import WGSL_FUNCTIONS
from compiler.target.codegen.source.device import DeviceRules, Head, Kernel, KernelParameter
from compiler.target.codegen.source.language import Language, Spelling

_WORDS = (
    "alias break case const const_assert continue continuing default diagnostic discard else enable false fn for "
    "if let loop override requires return struct switch true var while f16 f32 i32 u32 bool array atomic ptr "
    "vec2 vec3 vec4 vec2f vec3f vec4f vec2i vec3i vec4i vec2u vec3u vec4u mat2x2 mat3x3 mat4x4 sampler "
    "texture_2d NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await become "
    "binding_array cast catch class co_await co_return co_yield coherent column_major common compile "
    "compile_fragment concept const_cast consteval constexpr constinit crate debugger decltype delete demote "
    "demote_to_helper do dynamic_cast enum explicit export extends extern external fallthrough filter final "
    "finally friend from fxgroup get goto groupshared highp impl implements import inline instanceof interface "
    "layout lowp macro macro_rules match mediump meta mod module move mut mutable namespace new nil noexcept "
    "noinline nointerpolation non_coherent noncoherent noperspective null nullptr of operator package packoffset "
    "partition pass patch pixelfragment precise precision premerge priv protected pub public readonly ref "
    "regardless register reinterpret_cast require resource restrict self set shared sizeof smooth snorm static "
    "static_assert static_cast std subroutine super target template this thread_local throw trait try type "
    "typedef typeid typename typeof union unless unorm unsafe unsized use using varying virtual volatile wgsl "
    "where with writeonly yield blockIdx threadIdx sizes infinity not_a_number select bitcast workgroupBarrier "
    "min max abs sign floor ceil trunc round exp exp2 log log2 sqrt inverseSqrt sin cos tan asin acos atan atan2 "
    "sinh cosh tanh asinh acosh atanh pow fma countOneBits countLeadingZeros storage uniform private function "
    "workgroup read read_write"
)
_UNARY = (
    "exp", "exp2", "log", "log2", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
    "acosh", "atanh", "floor", "ceil", "trunc",
)  # fmt: skip


def _head(kernel: Kernel) -> Head:
    """Return the bindings, which are global variables, and the entry point."""
    pointers = [p for p in kernel.parameters if p.is_pointer]
    scalars = [p for p in kernel.parameters if not p.is_pointer]
    before = [
        f"@group(0) @binding({number}) var<storage, {_access(p)}> {p.name}: array<{p.type}>;"
        for number, p in enumerate(pointers)
    ]
    if scalars:
        fields = ", ".join(f"{p.name}: {p.type}" for p in scalars)
        before += [
            f"struct {kernel.symbol}_sizes {{ {fields} }}",
            f"@group(0) @binding({len(pointers)}) var<uniform> sizes_of_{kernel.symbol}: {kernel.symbol}_sizes;",
        ]
    threads = ", ".join(map(str, kernel.threads or ()))
    line = (
        f"@compute @workgroup_size({threads}) fn {kernel.symbol}"
        "(@builtin(workgroup_id) blockIdx: vec3<u32>, @builtin(local_invocation_id) threadIdx: vec3<u32>) {"
    )
    return Head(line, before, [f"let {p.name} = sizes_of_{kernel.symbol}.{p.name};" for p in scalars])


def _access(p: KernelParameter) -> str:
    return "read_write" if p.is_written else "read"


_FUNCTIONS = {
    **{f"tir.{name}": f"{name}({{0}})" for name in _UNARY},
    "tir.fabs": "abs({0})",
    "tir.nearbyint": "round({0})",
    "tir.round": "(sign({0}) * floor(abs({0}) + 0.5))",
    "tir.pow": "pow({0}, {1})",
    "tir.atan2": "atan2({0}, {1})",
    "tir.fmod": "({0} % {1})",
    "tir.fma": "fma({0}, {1}, {2})",
    "tir.exp10": "pow(10.0, {0})",
    "tir.log10": "(log({0}) * 0.4342944819)",
    "tir.log1p": "log(1.0 + ({0}))",
    "tir.hypot": "length(vec2({0}, {1}))",
    "tir.rsqrt": "inverseSqrt({0})",
    "tir.sigmoid": "(1.0 / (1.0 + exp(-({0}))))",
    "tir.erf": "erf_{t}({0})",
    "tir.fmaximum": "fmaximum_{t}({0}, {1})",
    "tir.fminimum": "fminimum_{t}({0}, {1})",
    "tir.isnan": "isnan_float32({0})",
}
_PLAIN = {
    "int8": "int32",
    "int16": "int32",
    "int64": "int32",
    "uint8": "uint32",
    "uint16": "uint32",
    "uint64": "uint32",
}
_NARROW = "WGSL has no memory of elements of fewer than 32 bits but float16"

_LARGEST = float.fromhex("0x1.fffffep+127")

WEBGPU = Language(
    name="webgpu",
    prologue=(),
    types={"bool": "bool", "int32": "i32", "uint32": "u32", "float16": "f16", "float32": "f32"},
    requirements={
        "f16": "enable f16;",
        "infinity": "fn infinity() -> f32 { var bits = 0x7f800000u; return bitcast<f32>(bits); }",
        "not_a_number": "fn not_a_number() -> f32 { var bits = 0x7fc00000u; return bitcast<f32>(bits); }",
        "isnan_float32": ("fn isnan_float32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }"),
    },
    missing={
        **{dtype: f"WGSL has integers of 32 bits only: use {other}" for dtype, other in _PLAIN.items()},
        **dict.fromkeys(("bfloat16", "e4m3_float8", "e5m2_float8"), f"{_NARROW}: store float16 or float32"),
        "float64": "WGSL has no double precision: compute in float32",
        "handle": "WGSL has no pointers to unknown memory: give the buffer its data type",
    },
    suffixes={"float32": "f", "uint32": "u", "float16": "h"},
    literals={
        "inf": "infinity()",
        "-inf": "(-infinity())",
        "nan": "not_a_number()",
        str(-(1 << 31)): "i32(-2147483648)",
        # The shortest representation of the largest number is above it, which WGSL rejects.
        str(_LARGEST): "3.40282346e+38f",
        str(-_LARGEST): "-3.40282346e+38f",
    },
    functions=_FUNCTIONS,
    double_functions={},
    intrinsics={
        "Min": "min({0}, {1})",
        "Max": "max({0}, {1})",
        "tir.popcount": "countOneBits({0})",
        "tir.clz": "countLeadingZeros({0})",
        "tir.shift_left": "(({0}) << u32({1}))",
        "tir.shift_right": "(({0}) >> u32({1}))",
    },
    operators={"tir.bitwise_and": "&", "tir.bitwise_or": "|", "tir.bitwise_xor": "^"},
    helpers={
        "min": ("a: {t}, b: {t}", "return select(b, a, a < b);"),
        "max": ("a: {t}, b: {t}", "return select(b, a, a > b);"),
        "fminimum": ("a: {t}, b: {t}", "return select(b, a, a < b || isnan_float32(f32(a)));"),
        "fmaximum": ("a: {t}, b: {t}", "return select(b, a, a > b || isnan_float32(f32(a)));"),
        "div": ("a: {t}, b: {t}", "return select(a / b, 0, b == 0);"),
        "mod": ("a: {t}, b: {t}", "return select(a % b, 0, b == 0);"),
        "floordiv": (
            "a: {t}, b: {t}",
            "return select(a / b - select(0, 1, ((a % b) != 0) && (((a % b) < 0) != (b < 0))), 0, b == 0);",
        ),
        "floormod": (
            "a: {t}, b: {t}",
            "return select(a % b + select(0, b, ((a % b) != 0) && (((a % b) < 0) != (b < 0))), 0, b == 0);",
        ),
        "erf": ("x: {t}", *erf_lines("let", "abs", "sign")),
    },
    reserved=frozenset(_WORDS.split()),
    spelling=Spelling(
        line="",
        declaration="let {name}: {type} = {value};",
        cast="{type}({value})",
        choice="select({other}, {then}, {condition})",
        loop="for (var {name}: {type} = {min}; {name} < {end}; {name}++) {{",
        function="fn {name}({parameters}) -> {type} {{",
        reinterpret="bitcast<{type}>({value})",
        extern="",
        parenthesized=True,
    ),
    built_in=WGSL_FUNCTIONS,
    device=DeviceRules(
        head=_head,
        axes={f"{of}.{along}": f"{of}.{along}" for of in ("blockIdx", "threadIdx") for along in "xyz"},
        memory={
            "local": "var {name}: array<{type}, {count}>;",
            "shared": "var<workgroup> {name}: array<{type}, {count}>;",
        },
        module_memory=frozenset({"shared"}),
        barriers=dict.fromkeys(("shared", "shared.dyn", "warp"), "workgroupBarrier();"),
        needs_constant_threads=True,
        unstored={"bool": "WGSL's storage buffers hold no bool; cast to int32"},
    ),
)
"""The definition of the language."""
