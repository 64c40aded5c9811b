"""NVIDIA's compilers in the sandbox: hostile programs, and a kernel on its whole way to the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from app import create_app
from app.artifacts import Options
from app.machine_code import CUBIN, MachineCode
from app.protocol import Request
from app.sandbox import Job, Limits, Outcome, Sandbox
from compiler.target.cuda_tools.tools import find_tool, missing_tools, toolkits
from tests.app.recorder.gpus.test_device_code import MATMUL

pytestmark = [
    pytest.mark.skipif(bool(missing_tools()), reason=missing_tools() or "none"),
    pytest.mark.xdist_group("cuda jobs"),
]
KERNEL = 'extern "C" __global__ void f(float *a) {{ {} }}'
SECONDS = Limits(wall_seconds=60, cpu_seconds=3)


@pytest.fixture(scope="module")
def recorder() -> Iterator[Sandbox]:
    with Sandbox("app.recorder.handler:handle", readable=[str(folder) for folder in toolkits()]) as sandbox:
        yield sandbox


def compiled(recorder: Sandbox, source: str, limits: Limits = SECONDS) -> tuple[MachineCode | None, Outcome]:
    request = Request(mode="cuda", program=source, options=Options(arch="sm_90"))
    job = recorder.start(msgspec.json.encode(request), limits=limits)
    messages = [msgspec.json.decode(message, type=MachineCode) for message in job.messages()]
    return (messages[0] if messages else None), job.outcome


def disassembled(recorder: Sandbox, cubin: bytes) -> tuple[bytes, Outcome]:
    limits = Limits(wall_seconds=60, program=str(find_tool("bin/nvdisasm")))
    job = recorder.start(msgspec.json.encode(Request(mode="sass")), {CUBIN: cubin}, limits)
    return b"".join(job.messages()), job.outcome


def test_a_kernel_becomes_ptx_machine_code_and_sass(recorder: Sandbox) -> None:
    code, outcome = compiled(recorder, KERNEL.format("a[threadIdx.x] *= 2.0f;"))
    assert outcome.status == "ok"
    assert code is not None
    assert ".entry f(" in code.ptx
    assert "Used" in code.log
    assert code.cubin.startswith(b"\x7fELF")
    sass, outcome = disassembled(recorder, code.cubin)
    assert outcome.status == "ok"
    assert b"FADD" in sass or b"FMUL" in sass


HOSTILE = {
    "a file of the system": ('#include "/etc/passwd"', "passwd"),
    "a file of the system as data": ('__device__ const char x[] = {\n#embed "/etc/passwd"\n};', "error"),
    "a file beside the sandbox's code": ('#include "../../../../etc/hostname"', "hostname"),
    "assembly that ends the function": (KERNEL.format('asm volatile("} .include \\"/etc/passwd\\" {");'), "ptxas"),
    "assembly of no sense": (KERNEL.format('asm volatile("jmp nowhere");'), "ptxas"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_source_is_refused_and_reads_nothing(recorder: Sandbox, name: str) -> None:
    source, said = HOSTILE[name]
    code, outcome = compiled(recorder, source)
    assert outcome.status == "ok"
    assert code is not None
    assert said in code.problem
    assert "root:" not in code.problem + code.ptx
    assert not code.cubin


ENDLESS = {
    "templates": "template <int N> struct T { typedef typename T<N - 1>::x a; typedef typename T<N - 2>::x b; "
    "typedef T x; };\ntemplate <> struct T<0> { typedef int x; };\n"
    "template <int N, int M> struct U { static const int v = U<N - 1, 2 * M>::v + U<N - 1, 2 * M + 1>::v; };\n"
    "template <int M> struct U<0, M> { static const int v = M; };\n" + KERNEL.format("a[0] = U<40, 1>::v;"),
    "constant expressions": "constexpr long f(long n) { long s = 0; for (long i = 0; i < n; i++) "
    "for (long j = 0; j < 4000; j++) s += i ^ j; return s; }\n"
    "template <long N> struct G { static const long v = f(4000) + G<N - 1>::v; };\n"
    "template <> struct G<0> { static const long v = 0; };\n" + KERNEL.format("a[0] = G<800>::v;"),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_never_ends_is_stopped(recorder: Sandbox, name: str) -> None:
    code, outcome = compiled(recorder, ENDLESS[name], Limits(wall_seconds=60, cpu_seconds=1))
    refused = code is not None and bool(code.problem)
    assert refused or outcome.status in ("timeout", "memory", "crash")
    assert compiled(recorder, KERNEL.format("a[0] = 1;"))[1].status == "ok"  # the next one has its own process


@pytest.mark.parametrize("cubin", [b"", b"no ELF", b"\x7fELF" + bytes(60), b"\x7fELF\2\1\1" + b"\xff" * 4096])
def test_damaged_machine_code_has_no_text(recorder: Sandbox, cubin: bytes) -> None:
    _, outcome = disassembled(recorder, cubin)
    assert outcome.status == "crash"


def test_a_schedule_is_followed_to_sass_on_the_page(recorder: Sandbox, tmp_path: Path) -> None:
    client = create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0}, recorder).test_client()
    answer = client.post("/api/compile", json={"script": MATMUL, "options": {"sass": True, "arch": "sm_86"}}).get_json()
    assert (answer["status"], len(answer["units"])) == ("ok", 1), answer["problems"]
    steps = answer["units"][0]["steps"]
    texts = {step["group"]: answer["listings"][step["listing"]] for step in steps if step["listing"]}
    assert texts.keys() >= {"kernel", "ptx", "sass"}, answer["console"]  # such as that a compiler was stopped
    origins = {origin["id"]: origin for origin in answer["origins"]}

    def lines_of_script(line: list) -> set[int]:  # type: ignore[type-arg]
        parents = {parent for row in line[1] for parent in origins[row]["parents"]}
        return {origins[row]["line"] for row in parents}

    assert texts["kernel"]["linked"] >= 0.95
    for group, word in (("ptx", "fma.rn.f32"), ("sass", "FFMA")):
        multiply = [line for line in texts[group]["lines"] if word in line[0]]
        assert multiply
        assert all(9 in lines_of_script(line) for line in multiply)  # the line of te.sum
    assert texts["sass"]["linked"] >= 0.9
    assert texts["sass"]["summary"]["registers"] > 0
    assert "limited by" in texts["sass"]["summary"]["occupancy"]
    assert answer["units"][0]["device"]["launches"][0]["resident_blocks"] > 0


def test_what_the_compiler_does_not_know_is_llvms_and_says_why(recorder: Sandbox, tmp_path: Path) -> None:
    client = create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0}, recorder).test_client()
    answer = client.post("/api/compile", json={"script": MATMUL, "options": {"arch": "sm_70"}}).get_json()
    [ptx] = [step["name"] for step in answer["units"][0]["steps"] if step["group"] == "ptx"]
    assert ptx == "PTX by LLVM, sm_70"
    assert any("the installed CUDA does not support sm_70" in entry["text"] for entry in answer["console"])


def test_kernels_that_an_edit_leaves_alone_are_not_compiled_again(
    recorder: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0}, recorder).test_client()
    modes: list[str] = []
    start = recorder.start

    def counted(request: bytes, *args: object, **options: object) -> Job:
        modes.append(msgspec.json.decode(request)["mode"])
        return start(request, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(recorder, "start", counted)
    listings = []
    for script in (MATMUL, f"{MATMUL}# a remark\n", MATMUL.replace("n = 64", "n = 128")):
        answer = client.post("/api/compile", json={"script": script, "options": {"sass": True}}).get_json()
        [step] = [step for step in answer["units"][0]["steps"] if step["group"] == "sass"]
        listings.append([line[0] for line in answer["listings"][step["listing"]]["lines"]])
    assert modes == ["compile", "cuda", "sass", "compile", "compile", "cuda", "sass"]
    assert listings[0] == listings[1] != listings[2]


def test_machine_code_is_a_file(recorder: Sandbox, tmp_path: Path) -> None:
    client = create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0}, recorder).test_client()
    asked = {"script": MATMUL, "options": {"arch": "sm_86"}, "file": {"form": "cubin"}}
    answer = client.post("/api/files", json=asked)
    assert answer.headers["Content-Disposition"].endswith("main.cubin")
    sass, outcome = disassembled(recorder, answer.data)
    assert outcome.status == "ok"
    assert b"FFMA" in sass
    assert b"sm_86" in sass
    refused = client.post("/api/files", json={**asked, "options": {"arch": "sm_70"}})
    assert "the installed CUDA does not support sm_70" in refused.get_json()["error"]["message"]
