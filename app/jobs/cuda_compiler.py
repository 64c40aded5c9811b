"""Compiles the kernels of an answer: CUDA C with NVRTC, then SASS with nvdisasm, in separate processes.

Neither gets the script.  Their inputs and outputs are untrusted, and stay text and bytes here.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from app.artifacts import Options, Workspace
from app.jobs.answer_reader import IncomingMessages
from app.jobs.launcher import Launcher
from app.machine_code import CUBIN, CompiledKernels, CudaProgram, MachineCode
from app.protocol import Request
from app.sandbox import Job, Outcome

MAX_KEPT = 32
"""The maximum number of programs whose code is kept."""
MAX_KEPT_BYTES = 1 << 20
"""The maximum size of the code of a kept program."""


class KernelCache:
    """A cache of compiled programs by text and architecture, as edits often leave kernels unchanged."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[CudaProgram, bool], CompiledKernels] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, program: CudaProgram, sass: bool) -> CompiledKernels | None:
        """Look up the results of a program, with or without its disassembly."""
        with self._lock:
            kernels = self._kept.get((program, sass))
            if kernels is not None:
                self._kept.move_to_end((program, sass))
            return kernels

    def put(self, kernels: CompiledKernels, sass: bool) -> None:
        """Cache the results of a program without problems, evicting the least recently used."""
        code = kernels.code
        size = len(kernels.program.source) + len(code.ptx) + len(code.log) + len(code.cubin) + len(kernels.sass)
        if code.problem or kernels.sass_problem or size > MAX_KEPT_BYTES:
            return
        with self._lock:
            self._kept[kernels.program, sass] = kernels
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)


class CudaCompiler:
    """Compiles the CUDA programs of an answer.

    Parameters
    ----------
    incoming : IncomingMessages
        Processes the messages of children.
    client : str
        The client on whose behalf jobs are started.
    options : Options
        The options of the workspace.
    hold : callable
        Registers each started job for cancellation.
    """

    def __init__(
        self,
        launcher: Launcher,
        incoming: IncomingMessages,
        client: str,
        options: Options,
        hold: Callable[[Job], None],
        cache: KernelCache,
    ) -> None:
        self._launcher = launcher
        self._incoming = incoming
        self._client = client
        self._options = options
        self._hold = hold
        self._cache = cache
        self._started: dict[CudaProgram, Future[CompiledKernels]] = {}

    def begin(self, programs: Sequence[CudaProgram]) -> None:
        """Start compiling new programs, while the script is still running.

        Raises
        ------
        Superseded
            If the client has disconnected.
        Unavailable
            If the sandbox cannot start a process.
        """
        for program in programs:
            if program in self._started:
                continue
            self._started[program] = made = Future[CompiledKernels]()
            cached = self._cache.get(program, self._options.sass)
            if cached is not None:
                made.set_result(cached)
                continue
            job = self._launcher.start_request(cuda_request(program))
            self._hold(job)
            threading.Thread(target=self._make, args=(program, job, made), name="cuda", daemon=True).start()

    def _make(self, program: CudaProgram, job: Job, made: Future[CompiledKernels]) -> None:
        """Disassemble machine code as soon as it is available."""
        try:
            kernels = self._compiled(program, job)
        except Exception as error:  # passed on to the waiting thread
            made.set_exception(error)
            return
        self._cache.put(kernels, self._options.sass)
        made.set_result(kernels)

    def finish(self) -> list[CompiledKernels]:
        """Return the results of all programs.

        Raises
        ------
        Superseded
            If the client has disconnected.
        Busy
            If the memory budget is exhausted.
        Unavailable
            If the sandbox cannot run anything.
        """
        return [made.result() for made in self._started.values()]

    def _compiled(self, program: CudaProgram, job: Job) -> CompiledKernels:
        with self._incoming.read(job, self._client, "server") as reader:
            # Read all messages, as otherwise the job would count as cancelled.
            codes = [event for event in reader.events() if isinstance(event, MachineCode)]
            outcome = reader.outcome()
        code = codes[0] if codes else MachineCode(problem=f"NVRTC returned nothing: {_said(outcome)}")
        if not self._options.sass or not code.cubin:
            return CompiledKernels(program=program, code=code)
        started = time.perf_counter()
        sass, problem = self._disassembled(code.cubin)
        took = (time.perf_counter() - started) * 1e3
        return CompiledKernels(program=program, code=code, sass=sass, sass_problem=problem, sass_milliseconds=took)

    def _disassembled(self, cubin: bytes) -> tuple[str, str]:
        """Return the disassembly of machine code, or the reason why there is none."""
        job = self._launcher.start_request(Request(mode="sass"), Workspace(script="", files={CUBIN: cubin}))
        self._hold(job)
        with self._incoming.read(job, self._client, "server") as reader:
            text = b"".join(reader.messages())
            outcome = reader.outcome()
        if outcome.status != "ok":
            return "", f"nvdisasm: {_said(outcome)}"
        return text.decode(errors="replace"), ""


def cuda_request(program: CudaProgram) -> Request:
    """Return the request to compile CUDA C that another job printed."""
    return Request(mode="cuda", program=program.source, options=Options(arch=program.arch))


def _said(outcome: Outcome) -> str:
    """Describe the failure of a compiler: its last line of output, or the outcome of its process."""
    last = outcome.console.strip().rpartition("\n")[2]
    return last if outcome.status == "crash" and last else outcome.detail
