"""Jobs that compile kernels, and a script of which nothing was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from app import create_app
from app.artifacts import Options
from app.jobs.cuda_compiler import MAX_KEPT, CudaCompiler, KernelCache
from app.machine_code import CompiledKernels, CudaProgram, MachineCode
from app.protocol import Request
from app.sandbox import Job, Outcome
from app.services import services_of
from tests.app.fixtures import FixedRunner

PROGRAM = CudaProgram(source='extern "C" __global__ void f() {}\n', arch="sm_90")


class _BusyJob:
    """A compiler whose process has not ended yet when its message is there; who leaves early cancels it."""

    machine = None
    ended = False

    def messages(self) -> Iterator[bytes]:
        yield msgspec.json.encode(MachineCode(ptx=".entry f()"))
        self.ended = True

    @property
    def outcome(self) -> Outcome:
        return Outcome(status="ok" if self.ended else "cancelled")


class _Launcher:
    def start_request(self, request: Request) -> Job:
        return _BusyJob()


def test_a_compiler_is_waited_for_until_its_process_has_ended(tmp_path: Path) -> None:
    incoming = services_of(create_app({"DATA_DIR": tmp_path}, FixedRunner())).compiler._incoming
    held: list[Job] = []
    cache = KernelCache()
    for _ in range(2):  # the second time nothing is started
        compiler = CudaCompiler(_Launcher(), incoming, "a client", Options(), held.append, cache)  # type: ignore[arg-type]
        compiler.begin([PROGRAM, PROGRAM])
        [kernels] = compiler.finish()
        assert kernels.code.ptx == ".entry f()"
        assert len(held) == 1


def test_failures_are_not_kept_and_the_oldest_code_goes() -> None:
    cache = KernelCache()
    cache.put(CompiledKernels(program=PROGRAM, code=MachineCode(problem="no room")), sass=False)
    assert cache.get(PROGRAM, sass=False) is None
    programs = [msgspec.structs.replace(PROGRAM, source=f"// {number}") for number in range(MAX_KEPT + 1)]
    for program in programs:
        cache.put(CompiledKernels(program=program, code=MachineCode(ptx="p")), sass=False)
    assert cache.get(programs[0], sass=False) is None
    assert cache.get(programs[1], sass=False) is not None
    assert cache.get(programs[1], sass=True) is None, "its disassembly was not asked for"


def test_a_script_that_fails_says_so_where_its_function_is_asked_for(tmp_path: Path) -> None:
    client = create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0}, FixedRunner()).test_client()
    for script, problem in (
        ("x = 1\nraise", "line 2: split: factor must be positive"),
        ("x = 1", "builds no function"),
    ):
        answer = client.post("/api/webgpu", json={"script": script}).get_json()
        assert problem in answer["problem"]
