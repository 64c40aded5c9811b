"""CUDA C++ for NVRTC and nvcc.

References
----------
NVIDIA, "Parallel Thread Execution ISA", section "Data Movement and Conversion Instructions: Asynchronous copy".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr
from compiler.ir.origin import user_place
from compiler.target.codegen.source.c import C_KEYWORDS, C
from compiler.target.codegen.source.device import CallRule, DeviceRules, Head, Kernel, KernelParameter, VectorRules
from compiler.target.codegen.source.language import Language, Spelling
from compiler.target.codegen.source.tensor_cores import CALLS, FRAGMENTS

if TYPE_CHECKING:
    from compiler.target.codegen.source.expressions import Expressions


_CACHES = {4: "ca", 8: "ca", 16: "cg"}
"""Cache operators by copy size: ``ca`` caches at all levels, ``cg`` only in L2."""


def _copy(e: Expressions, n: Call, level: int) -> None:
    """Emit ``cp.async``, which stores zeros without reading if its condition is false."""
    shared, shared_at, source, source_at, size, *condition = n.args
    count = _constant(n, size, "copies 4, 8 or 16 bytes")
    if count not in _CACHES:
        raise BuildError(f"build: cp.async copies 4, 8 or 16 bytes, got {size}{user_place(n.span)}")
    read = ", %2" if condition else ""
    e.write(f'asm volatile("cp.async.{_CACHES[count]}.shared.global [%0], [%1], {count}{read};" : : ')
    e.write('"r"((unsigned)__cvta_generic_to_shared(', shared, " + (", shared_at, "))), ")
    e.write('"l"(', source, " + (", source_at, "))")
    if condition:
        e.write(', "r"((', condition[0], f") ? {count} : 0)")
    e.write(' : "memory")')


def _commit(e: Expressions, n: Call, level: int) -> None:
    e.write('asm volatile("cp.async.commit_group;" : : : "memory")')


def _wait(e: Expressions, n: Call, level: int) -> None:
    count = _constant(n, n.args[0], "waits for a constant number of groups")
    e.write(f'asm volatile("cp.async.wait_group {count};" : : : "memory")')


def _constant(n: Call, value: PrimExpr, does: str) -> int:
    if isinstance(value, IntImm):
        return value.value
    raise BuildError(f"build: cp.async {does}, got {value}{user_place(n.span)}")


ASYNC_COPIES: dict[str, CallRule] = {
    "tir.ptx_cp_async": _copy,
    "tir.ptx_commit_group": _commit,
    "tir.ptx_wait_group": _wait,
}
"""The emitters of asynchronous copies, by operator."""


_TYPES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
    "float16": "half", "float32": "float", "float64": "double", "handle": "void*", "void": "void",
}  # fmt: skip
_VECTORS = {
    "int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort", "int32": "int", "uint32": "uint",
    "float32": "float", "int64": "longlong", "uint64": "ulonglong", "float64": "double",
}  # fmt: skip
_CPP = (
    "and and_eq alignas alignof bitand bitor catch class compl concept const_cast constexpr decltype delete "
    "dynamic_cast explicit export friend mutable namespace new noexcept not not_eq nullptr operator or or_eq "
    "private protected public reinterpret_cast requires static_assert static_cast template this thread_local "
    "throw try typeid typename using virtual wchar_t xor xor_eq half half2 dim3 threadIdx blockIdx blockDim "
    "gridDim warpSize min max"
)


def _head(kernel: Kernel) -> Head:
    threads = kernel.threads
    bounds = f"__launch_bounds__({threads[0] * threads[1] * threads[2]}) " if threads else ""
    parameters = ", ".join(_parameter(each, kernel.noalias) for each in kernel.parameters)
    return Head(f'extern "C" __global__ void {bounds}{kernel.symbol}({parameters}) {{')


def _parameter(p: KernelParameter, noalias: bool) -> str:
    if not p.is_pointer:
        return f"{p.type} {p.name}"
    return f"{'' if p.is_written else 'const '}{p.type}*{' __restrict__' if noalias else ''} {p.name}"


CUDA = Language(
    name="cuda",
    prologue=(),
    types=_TYPES,
    requirements={"half": "#include <cuda_fp16.h>", "nvcuda": "#include <mma.h>"},
    suffixes={**C.suffixes, "float64": ""},
    literals={
        "inf": "__int_as_float(0x7f800000)",
        "-inf": "(-__int_as_float(0x7f800000))",
        "nan": "__int_as_float(0x7fffffff)",
        str(-(1 << 31)): "(-2147483647 - 1)",
        str(-(1 << 63)): "(-9223372036854775807LL - 1)",
    },
    functions=C.functions,
    double_functions=C.double_functions,
    intrinsics={
        "Min": "min({0}, {1})",
        "Max": "max({0}, {1})",
        "tir.tvm_warp_shuffle": "__shfl_sync({0}, {1}, {2}, {3})",
        "tir.tvm_warp_shuffle_up": "__shfl_up_sync({0}, {1}, {2}, {3})",
        "tir.tvm_warp_shuffle_down": "__shfl_down_sync({0}, {1}, {2}, {3})",
        "tir.tvm_warp_activemask": "__activemask()",
        "tir.atomic_add": "atomicAdd({0}, {1})",
    },
    operators=C.operators,
    helpers=C.helpers,
    reserved=C.reserved | frozenset(C_KEYWORDS.split()) | frozenset(_CPP.split()),
    spelling=Spelling(
        unrolled="#pragma unroll",
        function="static __device__ __forceinline__ {type} {name}({parameters}) {{",
        extern="",
    ),
    device=DeviceRules(
        head=_head,
        axes={axis: axis for axis in (f"{of}.{along}" for of in ("blockIdx", "threadIdx") for along in "xyz")},
        memory={
            "local": "__align__(16) {type} {name}[{count}];",
            "shared": "__shared__ __align__(16) {type} {name}[{count}];",
            "shared.dyn": "extern __shared__ __align__(16) {type} {name}[];",
            **FRAGMENTS,
        },
        barriers={"shared": "__syncthreads();", "shared.dyn": "__syncthreads();", "warp": "__syncwarp();"},
        vectors=VectorRules(types=_VECTORS, sizes={4: "unsigned int", 8: "uint2", 16: "uint4"}),
        read_only=dict.fromkeys((*_VECTORS, "float16"), "__ldg(&{})"),
        calls={**CALLS, **ASYNC_COPIES},
    ),
)
"""The definition of the language."""
