"""Kernels as source code: what each language says, and what it refuses."""

import re

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.driver.build import build
from compiler.ir.error import ArgumentError, BuildError, TVMError, UnavailableError
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.op import Op
from compiler.ir.origin import OriginTable, recording
from compiler.target.codegen.source import LANGUAGES

DEVICES = ("cuda", "opencl", "metal", "webgpu")


def bound(compute, threads=64, dtype="float32", n=1024, vector=1):
    """Return a schedule of one elementwise stage whose loop is bound to blocks and threads."""
    A = te.placeholder((n,), name="A", dtype=dtype)
    B = te.compute((n,), lambda i: compute(A[i]), name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], factor=vector)
    block, thread = s[B].split(outer, factor=threads)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(thread, te.thread_axis("threadIdx.x"))
    if vector > 1:
        s[B].vectorize(inner)
    return s, [A, B]


def staged():
    """Return a schedule of a sum of neighbours, which a block reads from shared memory."""
    A = te.placeholder((1026,), name="A")
    B = te.compute((1024,), lambda i: A[i] + A[i + 1] + A[i + 2], name="B")
    s = te.create_schedule(B.op)
    shared = s.cache_read(A, "shared", [B])
    block, thread = s[B].split(B.op.axis[0], factor=64)
    tx = te.thread_axis((0, 64), "threadIdx.x")
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(thread, tx)
    s[shared].compute_at(s[B], block)
    outer, inner = s[shared].split(s[shared].op.axis[0], factor=64)
    s[shared].bind(inner, tx)
    s[shared].unroll(outer)
    return s, [A, B]


def program(schedule, kind):
    return build(*schedule, target=kind).imported_modules[0].get_source()


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (
            "cuda",
            (
                'extern "C" __global__ void __launch_bounds__(64) main_kernel(const float* __restrict__ A, '
                "float* __restrict__ B) {",
                "__shared__ __align__(16) float A_shared[66];",
                "__syncthreads();",
                "__ldg(&A[",
                "(int)blockIdx.x",
            ),
        ),
        (
            "opencl",
            (
                "__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void main_kernel("
                "__global const float* restrict A, __global float* restrict B) {",
                "__local __attribute__((aligned(16))) float A_shared[66];",
                "barrier(CLK_LOCAL_MEM_FENCE);",
                "get_group_id(0)",
            ),
        ),
        (
            "metal",
            (
                "kernel void main_kernel(device const float* A [[buffer(0)]], device float* B [[buffer(1)]], "
                "uint3 blockIdx [[threadgroup_position_in_grid]]",
                "alignas(16) threadgroup float A_shared[66];",
                "threadgroup_barrier(mem_flags::mem_threadgroup);",
            ),
        ),
        (
            "webgpu",
            (
                "@group(0) @binding(0) var<storage, read> A: array<f32>;",
                "@group(0) @binding(1) var<storage, read_write> B: array<f32>;",
                "var<workgroup> A_shared: array<f32, 66>;",
                "@compute @workgroup_size(64, 1, 1) fn main_kernel(",
                "workgroupBarrier();",
                "i32(blockIdx.x)",
            ),
        ),
    ],
)
def test_a_kernel_in_the_words_of_a_language(kind, parts):
    text = program(staged(), kind)
    assert [part for part in parts if part not in text] == [], text


@pytest.mark.parametrize(
    ("kind", "load", "store"),
    [
        ("cuda", r"\*\(float4\*\)\(A_row \+ 0\) = __ldg\(\(float4\*\)\(A \+ .*\)\);", r"\*\(float4\*\)\(B \+ .*\) = "),
        ("opencl", r"vstore4\(vload4\(0, A \+ .*\), 0, A_row \+ 0\);", r"vstore4\(vload4\(0, B_row \+ 0\), 0, B \+ "),
        ("metal", r"= \*\(device float4\*\)\(A \+ ", r"\*\(device float4\*\)\(B \+ .*\) = \*\(thread float4\*\)"),
    ],
)
def test_vectors_are_read_and_written_at_once(kind, load, store):
    text = program(bound(lambda x: x * 2.0 + 1.0, vector=4), kind)
    assert re.search(load, text), text
    assert re.search(store, text), text
    assert "B_row[lane] = A_row[lane] * 2.0f + 1.0f;" in text


@pytest.mark.parametrize(
    ("dtype", "lanes", "vector"), [("float32", 4, "float4"), ("float16", 8, "uint4"), ("int8", 8, "uint2")]
)
def test_memory_that_is_accessed_by_vectors_alone_is_copied_by_vectors(dtype, lanes, vector):
    A = te.placeholder((64, 64), dtype, name="A")
    B = te.compute((64, 64), lambda i, j: A[i, j], name="B")
    s = te.create_schedule(B.op)
    staged, x, y = s.cache_read(A, "shared", [B]), te.thread_axis("threadIdx.x"), te.thread_axis("blockIdx.x")
    s[B].bind(B.op.axis[0], y)
    s[staged].compute_at(s[B], B.op.axis[0])
    for tensor in (B, staged):
        thread, inner = s[tensor].split(tensor.op.axis[1], lanes)
        s[tensor].bind(thread, x)
        s[tensor].vectorize(inner)
    text = program((s, [A, B]), "cuda")
    assert f"*({vector}*)(A_shared + ((int)threadIdx.x) * {lanes}) = __ldg(({vector}*)(A + " in text
    assert re.search(rf"\*\({vector}\*\)\(B \+ .* = \*\({vector}\*\)\(A_shared \+ ", text), text
    assert "lane" not in text


def test_a_copy_of_a_vector_is_one_line_and_an_unaligned_one_goes_lane_by_lane():
    assert "*(float4*)(B + " in program(bound(lambda x: x, vector=4), "cuda")
    A = te.placeholder((1025,), name="A")
    B = te.compute((1024,), lambda i: A[i + 1], name="B")
    s = te.create_schedule(B.op)
    thread, lanes = s[B].split(B.op.axis[0], factor=4)
    s[B].bind(thread, te.thread_axis("threadIdx.x"))
    s[B].vectorize(lanes)
    text = program((s, [A, B]), "cuda")
    assert "(float4*)(A" not in text
    assert "*(float4*)(B + " in text


def test_loops_that_the_compiler_unrolls_say_so():
    A = te.placeholder((64, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((64,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    s[B].unroll(B.op.reduce_axis[0])
    with tvm.transform.PassContext(config={"tir.UnrollLoop": {"explicit_unroll": False}}):
        text = program((s, [A, B]), "cuda")
    assert re.search(r"#pragma unroll\n +for \(int k = 0; k < 8; \+\+k\) \{", text), text


@pytest.mark.parametrize("kind", DEVICES)
def test_every_line_of_a_body_leads_to_the_schedules_lines(kind):
    seen = []

    class Listings(Instrument):
        def source_generated(self, language, listing, milliseconds):
            seen.append(listing)

    with recording(OriginTable()), instrumented(Listings()):
        build(*staged(), target=kind)
    (listing,) = seen
    lines = [line for line in listing.lines if line.text.strip() not in ("", "}") and "@group" not in line.text]
    without = [
        line.text for line in lines if not line.span and "#include" not in line.text and "using" not in line.text
    ]
    assert [text for text in without if "var<workgroup>" not in text] == []


@pytest.mark.parametrize("kind", DEVICES)
def test_names_and_texts_stay_inside_of_the_program(kind):
    A = te.placeholder((64,), name="A) { } /* \n#include <x>")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="__global__ main; //")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    built = build(s, [A, B], target=kind, name='f"); evil(); //')
    text = built.imported_modules[0].get_source()
    assert "#include <x>" not in text
    assert not re.search(r"/\*|//|evil\(", text), text
    assert text.count("{") == text.count("}")


@pytest.mark.parametrize("kind", ["cuda", "opencl", "webgpu"])
def test_a_function_that_is_elsewhere_has_a_name_that_is_one(kind):
    refusal = pytest.raises(BuildError, match=r"\(line \d+\) is not a function name")
    with recording(OriginTable()), refusal:
        program(bound(lambda x: tir.call_extern("float32", "f(0); } void g(", x)), kind)


@pytest.mark.parametrize(("kind", "own"), [("webgpu", "smoothstep"), ("opencl", "native_exp"), ("metal", "simd_sum")])
def test_only_functions_of_the_language_are_called_where_no_others_can_be(kind, own):
    arguments = 3 if own == "smoothstep" else 1
    made = program(bound(lambda x: tir.call_pure_extern("float32", own, *[x] * arguments)), kind)
    assert f"= {own}(A[" in made
    refusal = pytest.raises(BuildError, match=rf"'frobnicate' \(line \d+\) is not a function of target '{kind}'")
    with recording(OriginTable()), refusal:
        program(bound(lambda x: tir.call_pure_extern("float32", "frobnicate", x)), kind)


@pytest.mark.parametrize(
    ("kind", "dtype", "cure"),
    [
        ("webgpu", "float64", "no values of type float64, .*; WGSL has no double precision: compute in float32"),
        ("webgpu", "int64", "no values of type int64, .*; WGSL has integers of 32 bits only: use int32"),
        ("webgpu", "int8", "WGSL has integers of 32 bits only: use int32"),
        ("webgpu", "int4", "no values of type int4, .*; WGSL has integers of 32 bits only: use int32"),
        ("opencl", "uint4", "no values of type uint4, .*; use uint8"),
        ("nvptx", "int4", r"values of type int4, which [AB] \(line \d+\) has; use int8"),
        ("metal", "float64", "Metal has no double precision: compute in float32"),
        ("webgpu", "bool", "WGSL's storage buffers hold no bool; cast to int32"),
    ],
)
def test_a_type_that_a_language_lacks_is_named_with_what_to_use(kind, dtype, cure):
    with recording(OriginTable()), pytest.raises(BuildError, match=cure):
        program(bound(lambda x: x, dtype=dtype), kind)


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_a_type_that_cpus_lack_is_named_with_its_line(target):
    with recording(OriginTable()):
        A = te.placeholder((16,), "int4", name="A")
        B = te.compute((16,), lambda i: A[i] + A[i], name="B")
        with pytest.raises(BuildError, match=r"values of type int4, which [AB] \(line \d+\) has; use int8"):
            tvm.build(te.create_schedule(B.op), [A, B], target)


def test_webgpu_must_know_the_threads_of_a_block():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    with pytest.raises(TVMError, match="split the axis"):
        program((s, [A, B]), "webgpu")


def test_sizes_are_a_uniform_buffer_of_webgpu():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    block, thread = s[B].split(B.op.axis[0], factor=32)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(thread, te.thread_axis("threadIdx.x"))
    text = program((s, [A, B]), "webgpu")
    assert "struct main_kernel_sizes { n: i32" in text
    assert "let n = sizes_of_main_kernel.n;" in text


@pytest.mark.parametrize("kind", DEVICES)
def test_a_module_of_the_host_imports_the_kernels_and_checks_arguments(kind):
    built = build(*staged(), target=kind)
    (kernels,) = built.imported_modules
    assert kernels.type_key == kind
    assert built.type_key == "llvm"
    assert kernels.kernels["main_kernel"].attrs["tir.kernel_launch_params"] == ["blockIdx.x", "threadIdx.x"]
    a, b = tvm.nd.array(np.zeros(1026, "float32")), tvm.nd.array(np.zeros(1024, "float32"))
    with pytest.raises(ArgumentError, match="expected 2 arguments"):
        built(a)
    with pytest.raises(ArgumentError, match="B"):
        built(a, a)
    with pytest.raises(UnavailableError, match=f"no runtime for {kind} devices"):
        built(a, b)
    with pytest.raises(ArgumentError, match="get_source"):
        kernels.get_source("nothing")


def test_a_launcher_gets_the_arguments_and_the_extents():
    built = build(*staged(), target="cuda")
    calls = []
    built.imported_modules[0].launcher = lambda *call: calls.append(call)
    a, b = tvm.nd.array(np.zeros(1026, "float32")), tvm.nd.array(np.zeros(1024, "float32"))
    built(a, b)
    ((name, arguments, extents),) = calls
    assert name == "main_kernel"
    assert [pointer.value for pointer in arguments] == [array.view().ctypes.data for array in (a, b)]
    assert extents == {"blockIdx.x": 16, "threadIdx.x": 64}


def test_the_tables_of_the_languages_name_only_operators_that_are_there():
    for language in LANGUAGES.values():
        for name in (*language.functions, *language.double_functions, *language.operators, *language.intrinsics):
            assert name in ("Min", "Max") or Op.get(name).name == name


@pytest.mark.parametrize(
    ("kind", "declared"),
    [
        ("cuda", "extern __shared__ __align__(16) unsigned char buf_dyn_shmem[];"),
        ("opencl", "__local __attribute__((aligned(16))) uchar buf_dyn_shmem[2048];"),
        ("metal", "alignas(16) threadgroup uchar buf_dyn_shmem[2048];"),
        ("webgpu", "var<workgroup> D_shared_dyn: array<i32, 256>;"),
    ],
)
def test_dynamic_shared_memory_of_two_types(kind: str, declared: str) -> None:
    """One memory holds both, but in WGSL, whose memory has a type."""
    n = 16
    a, d = te.placeholder((n, n), name="A"), te.placeholder((n, n), "int32", name="D")
    b = te.compute((n, n), lambda i, j: a[j, i] + d[j, i].astype("float32"), name="B")
    s = te.create_schedule(b.op)
    ty, tx = te.thread_axis((0, n), "threadIdx.y"), te.thread_axis((0, n), "threadIdx.x")
    block, row = s[b].split(b.op.axis[0], nparts=1)
    for staged in (s.cache_read(a, "shared.dyn", [b]), s.cache_read(d, "shared.dyn", [b])):
        s[staged].compute_at(s[b], block)
        s[staged].bind(s[staged].op.axis[0], ty)
        s[staged].bind(s[staged].op.axis[1], tx)
    for loop, axis in ((block, te.thread_axis("blockIdx.x")), (row, ty), (b.op.axis[1], tx)):
        s[b].bind(loop, axis)
    assert declared in tvm.build(s, [a, d, b], kind).imported_modules[0].get_source()


def test_pointers_to_bool_in_opencl() -> None:
    """OpenCL forbids them: bool is stored in bytes."""
    a = te.placeholder((8,), "bool", name="A")
    b = te.compute((8,), lambda i: tvm.tir.Not(a[i]), name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x"))
    source = tvm.build(s, [a, b], "opencl").imported_modules[0].get_source()
    assert "__global const char* restrict A, __global char* restrict B" in source
    assert "bool*" not in source


@pytest.mark.parametrize(("kind", "narrow", "wide"), [
    ("cuda", "(-2147483647 - 1)", "-2147483648LL"), ("opencl", "INT_MIN", "-2147483648L"),
    ("metal", "INT_MIN", "-2147483648L"), ("c", "INT32_MIN", "-2147483648LL"),
])  # fmt: skip
def test_the_least_int32_is_a_number_of_its_own_type(kind: str, narrow: str, wide: str) -> None:
    """As one of int64 it has a literal; without the suffix, ``max`` of it and another int64 is ambiguous."""
    for dtype, text in (("int32", narrow), ("int64", wide)):
        zero, least = tir.const(0, dtype), tir.const(-(1 << 31), dtype)
        schedule, args = bound(lambda x, zero=zero, least=least: tir.Select(x > zero, x, least), dtype=dtype)
        if kind == "c":
            schedule = te.create_schedule(args[-1].op)
        module = build(schedule, args, kind)
        [*kernels] = module.imported_modules
        assert text in (kernels or [module])[0].get_source()
