"""NVIDIA's compilers: PTX, SASS, resources; occupancy against the computation in CUDA's own header."""

import re
import shutil
import subprocess
from importlib import import_module

import pytest

from compiler import te
from compiler.driver.build import build
from compiler.ir.error import ArgumentError, BuildError, UnavailableError
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.origin import OriginTable, recording
from compiler.target.cuda_tools import PROCESSORS, compile_cuda, missing_tools, occupancy, report, tools, translate
from compiler.target.cuda_tools.compile import cubin_of
from compiler.target.cuda_tools.listings import Control, ptx_lines, sass_lines
from compiler.target.cuda_tools.nvrtc import NvrtcResult, load_nvrtc
from compiler.target.cuda_tools.resources import KernelResources, parse_resources
from compiler.target.cuda_tools.tools import NVRTC, find_tool, include_folders, knows, toolkits
from tests.compiler.target.test_kernels import bound, staged


def _headers():
    return [folder for folder in include_folders() if (folder / "cuda_fp16.h").exists()]


needs_tools = pytest.mark.skipif(bool(missing_tools()), reason=missing_tools() or "none")


def tiled_matmul(n=512, tile=64, each=8, step=8):
    """Return the schedule of a matrix product with tiles in shared memory and in registers."""
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[k, i] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    AL, BL = s.cache_read(AS, "local", [C]), s.cache_read(BS, "local", [C])
    CL = s.cache_write(C, "local")
    ty, tx = te.thread_axis((0, tile // each), "threadIdx.y"), te.thread_axis((0, tile // each), "threadIdx.x")
    (by, i), (bx, j) = s[C].split(C.op.axis[0], tile), s[C].split(C.op.axis[1], tile)
    (yi, yo), (xi, xo) = s[C].split(i, each), s[C].split(j, each)
    s[C].reorder(by, bx, yi, xi, yo, xo)
    for axis, thread in ((by, te.thread_axis("blockIdx.y")), (bx, te.thread_axis("blockIdx.x")), (yi, ty), (xi, tx)):
        s[C].bind(axis, thread)
    s[CL].compute_at(s[C], xi)
    ko, ki = s[CL].split(s[CL].op.reduce_axis[0], step)
    s[CL].reorder(ko, ki, *s[CL].op.axis)
    for axis in (ki, *s[CL].op.axis):
        s[CL].unroll(axis)
    for shared in (AS, BS):
        s[shared].compute_at(s[CL], ko)
        fused = s[shared].fuse(*s[shared].op.axis)
        fused, lanes = s[shared].split(fused, 4)
        fused, x = s[shared].split(fused, tile // each)
        fused, y = s[shared].split(fused, tile // each)
        s[shared].bind(x, tx)
        s[shared].bind(y, ty)
        s[shared].vectorize(lanes)
        s[shared].unroll(fused)
    for local in (AL, BL):
        s[local].compute_at(s[CL], ki)
        for axis in s[local].op.axis:
            s[local].unroll(axis)
    return s, [A, B, C]


@needs_tools
def test_a_program_becomes_ptx_and_sass_whose_lines_lead_back():
    with recording(OriginTable()):
        listings = []

        class Listings(Instrument):
            def source_generated(self, language, listing, milliseconds):
                listings.append(listing)

        with instrumented(Listings()):
            source = build(*staged(), target="cuda").imported_modules[0].get_source()
        report = compile_cuda(source, "sm_80")
    lines = source.splitlines()
    assert [line.text for line in listings[0].lines] == lines
    for code in (report.ptx, report.sass):
        instructions = [line for line in code if line.is_instruction]
        leading = [line for line in instructions if line.source_line and listings[0].lines[line.source_line - 1].span]
        assert len(leading) >= 0.9 * len(instructions) > 0
    barrier = next(line for line in report.sass if "BAR.SYNC" in line.text)
    assert lines[barrier.source_line - 1].strip() == "__syncthreads();"


@needs_tools
def test_a_matmul_with_register_tiles_spills_nothing_and_multiplies_most_of_the_time():
    source = build(*tiled_matmul(), target="cuda").imported_modules[0].get_source()
    report = compile_cuda(source)
    (kernel,) = report.kernels
    assert (kernel.resources.spill_store_bytes, kernel.resources.spill_load_bytes, kernel.threads) == (0, 0, 64)
    assert kernel.resources.shared_bytes == 2 * 64 * 8 * 4
    start = next(at for at, line in enumerate(report.sass) if ".L_x_0:" in line.text)
    end = next(at for at, line in enumerate(report.sass) if "BRA" in line.text and at > start)
    products = sum(" FFMA" in line.text for line in report.sass[start:end])
    assert products == 8 * 8 * 8  # a step of the reduction: one for each two floating-point operations
    assert kernel.occupancy.blocks > 0


@needs_tools
def test_kernels_are_saved_as_source_ptx_and_machine_code(tmp_path):
    kernels = build(*staged(), target="cuda -arch=sm_86").imported_modules[0]
    for name, beginning in (("k.cu", b""), ("k.ptx", b"//"), ("k.cubin", b"\x7fELF")):
        kernels.save(str(tmp_path / name))
        assert (tmp_path / name).read_bytes().lstrip().startswith(beginning)
    assert (tmp_path / "k.cu").read_text() == kernels.get_source()
    assert ".target sm_86" in kernels.get_source("ptx")


@needs_tools
def test_what_is_half_as_wide_needs_the_headers():
    source = build(*bound(lambda x: x + x, dtype="float16"), target="cuda").imported_modules[0]
    if not _headers():
        pytest.skip("cuda_fp16.h is in nvidia-cuda-runtime")
    assert "#include <cuda_fp16.h>" in source.get_source()
    assert "HADD2" in "\n".join(line.text for line in compile_cuda(source.get_source()).sass)
    assert ".version" in source.get_source("ptx")


@needs_tools
def test_what_a_compiler_refuses_is_said():
    with pytest.raises(BuildError, match=r"NVRTC rejects the program for sm_90: kernel\.cu\(1\): error"):
        compile_cuda("nothing that is C")
    with pytest.raises(ArgumentError, match="arch must be one of sm_70, "):
        compile_cuda("", "sm_1")


@needs_tools
def test_a_program_that_never_ends_to_compile_is_stopped(monkeypatch):
    monkeypatch.setattr(tools, "_SECONDS", 1)
    bomb = "".join(f"#define A{i} A{i + 1} A{i + 1} A{i + 1} A{i + 1}\n" for i in range(30)) + "int x = A0;"
    with pytest.raises(BuildError):
        compile_cuda(bomb)


def test_without_the_tools_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setattr(tools, "_folders", tuple)
    assert "nvidia-cuda-nvcc, nvidia-cuda-nvdisasm, nvidia-cuda-nvrtc" in missing_tools()
    with pytest.raises(UnavailableError, match=r"libnvrtc is in nvidia-cuda-nvrtc, which is missing; pip install"):
        compile_cuda("")


@pytest.fixture
def toolkit(tmp_path, monkeypatch):
    """A CUDA Toolkit's directory, with nothing but NVRTC and headers, where no package of NVIDIA's is installed."""
    for name in ("bin/nvcc", "include/crt/mma.h", "lib64/libnvrtc.so.12"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setattr(tools, "_TOOLKIT", str(tmp_path / "none"))
    monkeypatch.setattr(tools.importlib.util, "find_spec", lambda name: None)
    tools._folders.cache_clear()
    yield tmp_path
    tools._folders.cache_clear()


def test_the_tools_of_a_toolkit_serve_as_those_of_the_packages(toolkit):
    assert toolkits() == [toolkit]
    assert find_tool(NVRTC) == toolkit / "lib64" / "libnvrtc.so.12"
    assert include_folders() == [toolkit / "include"]
    assert "nvidia-cuda-nvrtc" not in missing_tools()
    assert (knows("sm_70"), knows("sm_90"), knows("sm_1")) == (True, True, False)


def test_kernels_are_machine_code_where_there_is_nvrtc_alone(toolkit, monkeypatch):
    """The driver compiles PTX, but LLVM writes none of tensor cores."""
    makes_modules = import_module("compiler.target.codegen.source.device_module")
    monkeypatch.setattr(makes_modules, "cubin_of", lambda text, arch: arch.encode())
    kernels = build(*staged(), target="cuda").imported_modules[0]
    assert kernels.machine_code("sm_90") == b"sm_90"


def test_the_built_ins_of_nvrtc_are_loaded_before_it(tmp_path, monkeypatch):
    """NVRTC 13.0 asks for them by name alone, and does not look beside itself."""
    (tmp_path / "libnvrtc-builtins.so.13.0").touch()
    loaded = []
    monkeypatch.setattr("ctypes.CDLL", loaded.append)
    load_nvrtc(tmp_path / "libnvrtc.so.13")
    assert [path.rsplit("/", 1)[1] for path in loaded] == ["libnvrtc-builtins.so.13.0", "libnvrtc.so.13"]


@pytest.mark.parametrize(("release", "uncached"), [(12, False), (13, True)])
def test_what_a_kernel_uses_is_told_of_code_that_nvrtc_has_in_its_cache(toolkit, monkeypatch, release, uncached):
    """Of what it finds there it has no log."""
    (toolkit / "lib64" / "libnvrtc.so.12").rename(toolkit / "lib64" / f"libnvrtc.so.{release}")
    asked = []
    compiles = import_module("compiler.target.cuda_tools.compile")
    monkeypatch.setattr(compiles, "load_nvrtc", lambda path: None)
    monkeypatch.setattr(
        compiles, "compile_program", lambda *given: asked.append(given[3]) or NvrtcResult(b"ptx", b"cubin", "log")
    )
    assert (translate("").log, cubin_of("")) == ("log", b"cubin")
    assert ["--no-cache" in options for options in asked] == [uncached, False]


def test_a_log_of_ptxas_is_read():
    log = (
        "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'f' for 'sm_90'\n"
        "ptxas info    : Function properties for f\n"
        "    24 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads\n"
        "ptxas info    : Used 32 registers, used 1 barriers, 24 bytes cumulative stack size, 2048 bytes smem\n"
        "ptxas info    : Compiling entry function 'g' for 'sm_90'\n"
        "ptxas info    : Used 10 registers, 360 bytes cmem[0]\n"
    )
    assert parse_resources(log) == {"f": KernelResources(32, 2048, 24, 8, 16, 1), "g": KernelResources(registers=10)}


def test_shared_memory_whose_size_the_launch_says_counts_for_occupancy():
    source = "__global__ void __launch_bounds__(64) f() {}"
    log = "Compiling entry function 'f' for 'sm_90'\nUsed 32 registers, 1024 bytes smem"
    (alone,), (more,) = (report(source, "sm_90", "", log, dynamic=each).kernels for each in (None, {"f": 64 << 10}))
    assert (alone.resources.shared_bytes, more.resources.shared_bytes) == (1024, 65 << 10)
    assert (alone.occupancy.blocks, more.occupancy.blocks) == (32, 3)


def test_lines_of_inlined_functions_lead_to_where_they_are_called():
    ptx = (
        "\t.loc\t1 3 5, function_name $L__info_string0, inlined_at 1 9 7\n\tadd.s32 %r1, %r2, %r3;\n"
        "\t.loc\t2 634 5, function_name $L__info_string1, inlined_at 1 8 7\n\tmul.f32 %f1, %f2, %f3;\n"
        "\t.loc\t2 70 5, function_name $L__info_string2, inlined_at 2 634 5\n\tneg.f32 %f1, %f2;\n"
        "\t.loc\t2 4 5\n\tabs.f32 %f1, %f2;\n"
        "\t.loc\t1 4 1\n\tret;\n"
        '\t.file\t1 "/tmp/kernel.cu"\n\t.file\t2 "/include/crt/mma.hpp"\n\t.section .debug_str\n'
    )
    assert [(line.text.split()[0], line.source_line) for line in ptx_lines(ptx)] == [
        ("add.s32", 9), ("mul.f32", 8), ("neg.f32", 8), ("abs.f32", None), ("ret;", 4)
    ]  # fmt: skip
    sass = (
        '.text.f:\n\t//## File "mma.hpp", line 634 inlined at "kernel.cu", line 9\n\t//## File "kernel.cu", line 9\n'
        "        /*0010*/                   IADD3 R1, R1, R2, RZ ;\n.L_x_0:\n        /*0020*/   @P0 BRA `(.L_x_0) ;\n"
        '\t//## File "/include/crt/mma.hpp", line 4\n        /*0030*/                   EXIT ;\n'
    )
    assert [line.source_line for line in sass_lines(sass) if line.is_instruction] == [9, 9, None]


ENCODED = """\
.text.k:
        /*0050*/                   S2R R2, SR_TID.X ;                         /* 0x0000000000027919 */
                                                                              /* 0x000e2a0000002100 */
        /*0080*/                   IMAD R3, R3, UR4, R2 ;                     /* 0x0000000403037c24 */
                                                                              /* 0x001fc8000f8e0202 */
        /*00a0*/                   LDG.E R0, desc[UR8][R28.64] ;              /* 0x000000081c007981 */
                                                                              /* 0x000f22000c1e1900 */
        /*0100*/                   STS [R3], R0 ;                             /* 0x0000000003007388 */
                                                                              /* 0x0101e20000000800 */
.L_x_0:
        /*0110*/                   NOP ;                                      /* 0x0000000000007918 */
                                                                              /* 0x000fc00000000000 */
"""
"""Instructions of a kernel for sm_90, as nvdisasm prints them with their encodings."""


def test_encodings_say_what_instructions_wait_for() -> None:
    lines = sass_lines(ENCODED)
    assert [line.text.strip() for line in lines] == [
        ".text.k:", "S2R R2, SR_TID.X", "IMAD R3, R3, UR4, R2", "LDG.E R0, desc[UR8][R28.64]", "STS [R3], R0", ".L_x_0:"
    ]  # fmt: skip
    assert [line.control for line in lines] == [
        None,
        Control(5, False, 0, None, ()),  # its result opens barrier 0
        Control(4, True, None, None, (0,)),  # which the product waits for
        Control(1, False, 4, None, ()),
        Control(1, False, None, 0, (4,)),
        None,
    ]
    assert str(Control(12, True, 2, None, (0, 5))) == "/* 0----5  -  2 y 12 */"


_REFERENCE = """
#include <cuda_occupancy.h>
#include <cstdio>
int main() {
    int major, minor, warps, registers, shared, blocks, threads, of_thread, of_block, reserved, optin;
    while (scanf("%d %d %d %d %d %d %d %d %d %d", &major, &minor, &warps, &registers, &shared, &optin, &reserved,
                 &threads, &of_thread, &of_block) == 10) {
        cudaOccDeviceProp p;
        p.computeMajor = major; p.computeMinor = minor; p.maxThreadsPerBlock = 1024;
        p.maxThreadsPerMultiprocessor = warps * 32; p.regsPerBlock = registers; p.regsPerMultiprocessor = registers;
        p.warpSize = 32; p.sharedMemPerBlock = 49152; p.sharedMemPerMultiprocessor = shared; p.numSms = 1;
        p.sharedMemPerBlockOptin = optin; p.reservedSharedMemPerBlock = reserved;
        cudaOccFuncAttributes f;
        f.maxThreadsPerBlock = 1024; f.numRegs = of_thread; f.sharedSizeBytes = of_block;
        f.partitionedGCConfig = PARTITIONED_GC_OFF; f.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        f.maxDynamicSharedSizeBytes = 1 << 20; f.numBlockBarriers = 1;
        cudaOccDeviceState s;
        s.carveoutConfig = 100;
        cudaOccResult r;
        int status = cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &f, &s, threads, 0);
        printf("%d\\n", status ? -status : r.activeBlocksPerMultiprocessor);
    }
}
"""


@pytest.mark.skipif(not _headers(), reason="needs nvidia-cuda-runtime")
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_occupancy_is_that_of_cudas_own_calculator(tmp_path):
    (tmp_path / "reference.cpp").write_text(_REFERENCE)
    program = str(tmp_path / "reference")
    command = [
        "g++",
        *(f"-I{headers}" for headers in include_folders()),
        str(tmp_path / "reference.cpp"),
        "-o",
        program,
    ]
    subprocess.run(command, check=True, capture_output=True)
    cases = [
        (arch, threads, registers, shared)
        for arch in PROCESSORS
        for threads in (1, 32, 33, 64, 96, 128, 200, 256, 512, 1000, 1024)
        for registers in (8, 16, 24, 32, 33, 40, 63, 64, 128, 200, 255)
        for shared in (0, 1, 1000, 4096, 16384, 49152)
    ]
    rows = []
    for arch, threads, registers, shared in cases:
        p, number = PROCESSORS[arch], re.fullmatch(r"sm_(\d+)(\d)", arch)
        row = (number[1], number[2], p.warps, p.registers, p.shared_bytes, p.block_shared_bytes, p.reserved_bytes)
        rows.append(" ".join(map(str, (*row, threads, registers, shared))))
    done = subprocess.run([program], input="\n".join(rows), capture_output=True, text=True, check=True)
    expected = [int(line) for line in done.stdout.split()]
    computed = [occupancy(*case).blocks for case in cases]
    assert len(expected) == len(cases)
    wrong = [
        (case, ours, theirs) for case, ours, theirs in zip(cases, computed, expected, strict=True) if ours != theirs
    ]
    assert wrong == [], f"{len(wrong)} of {len(cases)}"


@needs_tools
def test_compiling_in_this_process_gives_the_same_kernels():
    source = build(*tiled_matmul(), target="cuda").imported_modules[0].get_source()
    made, apart = translate(source, "sm_80"), compile_cuda(source, "sm_80")
    here = report(source, "sm_80", made.ptx, made.log)
    assert here.kernels == apart.kernels
    assert here.sass == []
    assert sum(line.is_instruction for line in here.ptx) > 100
    assert made.cubin.startswith(b"\x7fELF")


@needs_tools
def test_a_program_that_nvrtc_refuses_says_why_in_this_process_too():
    with pytest.raises(BuildError, match=r"NVRTC rejects.*nowhere"):
        translate('extern "C" __global__ void f() { nowhere(); }')
    with pytest.raises(ArgumentError, match="sm_90"):
        translate("", "sm_1")
