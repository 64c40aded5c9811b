"""Starts the sandboxed job of a workspace, with the limits of its mode and options."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Literal

import msgspec

from app.artifacts import MEASURING, Mode, Options, Workspace
from app.built_files import PART_BYTES, PART_HEAD, FileSubject
from app.config import Config
from app.counts import JOBS
from app.errors import Unavailable
from app.jobs.cores import Cores
from app.machine_code import CUBIN, CudaProgram
from app.proposals import Subject
from app.protocol import STARVING, RecordedVariant, Request
from app.sandbox import Job, Limits, Runner, SandboxError
from app.sandbox.wire import FRAME_BYTES
from app.searches import LOG, Decision, SearchSettings, SoughtKernel
from app.store.workspace_limits import WorkspaceLimits
from app.webgpu import MAX_PREPARED_BYTES
from compiler.runtime.machine import available_cores
from compiler.target.cuda_tools.tools import find_tool, knows, missing_tools

WALL_MARGIN_SECONDS = 4.0
"""Time in addition to a script's budget, for uninterruptible calls and the last snapshot."""
PATIENCE = 2.5
"""Factor by which a short budget is extended if the job gets too little CPU time."""
SHORT: tuple[Mode, ...] = ("compile", "propose", "trace", "define", "cuda", "sass", "candidate")
"""Modes for which a visitor waits: they have the budget of a compilation, which a busy machine may exceed."""
FREE_THREADS = 32
"""Number of threads that a script may start, in addition to those of OpenMP and NumPy's BLAS."""
THREAD_BYTES = 24 << 20
"""Address space of a thread, for its stack and buffers, added to the limit of a script for as many threads as there
are cores; not for more, since the script can use it for anything."""
MAX_SEED = 1 << 32
LONG_MESSAGES: dict[Mode, int] = {"webgpu": MAX_PREPARED_BYTES}
"""Maximum message size of the modes with long results."""
COPIES = 8
"""Maximum number of copies of a model in memory: the file, the parsed model, arrays, the compiled model."""
MAX_COPIES_BYTES = 1 << 30
"""Maximum memory that is added for uploaded files; recorded models, whose weights a seed makes, get all of it."""


class Launcher:
    """Starts the jobs of workspaces.

    Parameters
    ----------
    cores : Cores
        Assigns CPUs to jobs.
    workspace_limits : WorkspaceLimits
        Limits of workspaces, with access to uploaded files.

    Attributes
    ----------
    file_bytes : int
        Maximum size of a built file.
    """

    def __init__(self, runner: Runner, config: Config, cores: Cores, workspace_limits: WorkspaceLimits) -> None:
        self._workspace_limits = workspace_limits
        self._runner = runner
        self._cores = cores
        self.file_bytes = config.built_file_bytes
        self._seconds: dict[Mode, float] = {
            **dict.fromkeys(SHORT, config.compile_seconds),
            "run": config.run_seconds,
            "ladder": config.ladder_seconds,
            "record": config.run_seconds,
            "file": config.run_seconds,
            "measure": config.ladder_seconds,
            "webgpu": config.ladder_seconds,
            "search": config.ladder_seconds,
            "batch": config.ladder_seconds,
        }
        self._compiles_cuda = runner.tier.executes and not missing_tools()

    def no_cuda(self, arch: str) -> str:
        """Return why no machine code can be built for an NVIDIA GPU; empty if it can.

        Parameters
        ----------
        arch : str
            Architecture, such as ``sm_90``.
        """
        if self._compiles_cuda:
            return "" if knows(arch) else f"the installed CUDA does not support {arch}"
        return missing_tools() or "this server's sandbox cannot bound which programs are started"

    def check(self, workspace: Workspace) -> None:
        """Reject a workspace that can never be started, before it is queued.

        Raises
        ------
        InvalidBody
            If a file name is not plain, or there are too many files.
        TooLarge
            If the files exceed their size limit.
        NotFound
            If an uploaded file does not exist.
        Damaged
            If an uploaded file is corrupted.
        """
        self._workspace_limits.check(workspace)

    def start(self, mode: Mode, workspace: Workspace) -> Job:
        """Start a job.

        Raises
        ------
        InvalidBody, TooLarge, NotFound, Damaged
            As in :meth:`check`.
        Unavailable
            If the sandbox cannot start a process.
        """
        request = Request(
            mode=mode, script=workspace.script, options=workspace.options, compiles_cuda=self._compiles_cuda
        )
        return self._start(request, workspace)

    def start_proposals(self, workspace: Workspace, subject: Subject) -> Job:
        """Start a job that runs the script and proposes schedule primitives.

        Parameters
        ----------
        subject : Subject
            The loop or stage to propose primitives for.

        Raises
        ------
        InvalidBody, TooLarge, NotFound, Damaged
            As in :meth:`check`.
        Unavailable
            If the sandbox cannot start a process.
        """
        options = msgspec.structs.replace(workspace.options, prefix=None)
        request = Request(mode="propose", script=workspace.script, subject=subject, options=options)
        return self._start(request, workspace)

    def start_explanation(self, workspace: Workspace, unit: int) -> Job:
        """Start a job that runs the script and says why one of its functions takes its time, as in the last method."""
        options = msgspec.structs.replace(workspace.options, prefix=None)
        return self._start(Request(mode="propose", script=workspace.script, explained=unit, options=options), workspace)

    def start_file(self, workspace: Workspace, subject: FileSubject) -> Job:
        """Start a job that runs the script and builds a file.

        Parameters
        ----------
        subject : FileSubject
            The subject and form of the file.

        Raises
        ------
        InvalidBody, TooLarge, NotFound, Damaged
            As in :meth:`check`.
        Unavailable
            If the sandbox cannot start a process.
        """
        request = Request(
            mode="file", script=workspace.script, file=subject, file_bytes=self.file_bytes, options=workspace.options
        )
        return self._start(request, workspace)

    def start_measurement(
        self, program: str, options: Options, prefixes: bool, original: str = "", numpy: str = ""
    ) -> Job:
        """Start a job that measures a program recorded by another job, on inputs chosen by the server.

        Parameters
        ----------
        program : str
            Text of :mod:`compiler.te.program`.
        prefixes : bool
            Whether to measure every prefix of its schedule.
        original : str
            Text of the original program, which is measured in alternation.
        numpy : str
            A trusted function of the inputs, to time as NumPy's.

        Raises
        ------
        Unavailable
            If the sandbox cannot start a process.
        """
        seed = secrets.randbelow(MAX_SEED)
        request = Request(
            mode="measure", program=program, original=original, numpy=numpy, options=options, prefixes=prefixes,
            seed=seed,
        )  # fmt: skip
        return self._start(request, Workspace(script="", options=options))

    def start_scrub(self, variants: Sequence[RecordedVariant], options: Options) -> Job:
        """Start a job that measures programs recorded by other jobs in turns, on inputs chosen by the server.

        Raises
        ------
        Unavailable
            If the sandbox cannot start a process.
        """
        seed = secrets.randbelow(MAX_SEED)
        request = Request(mode="measure", variants=list(variants), options=options, seed=seed)
        return self._start(request, Workspace(script="", options=options))

    def start_batch(self, program: str, contenders: Sequence[str], numpy: str) -> Job:
        """Start a job that measures programs of one definition in turns, on one thread and inputs that nobody knows.

        Parameters
        ----------
        program : str
            The definition, as a text of :mod:`compiler.te.program`, like the contenders.
        numpy : str
            A trusted function of the inputs, to time beside them; empty for the definition's own NumPy program.

        Raises
        ------
        Unavailable
            If the sandbox cannot start a process.
        """
        seed = secrets.randbelow(MAX_SEED)
        request = Request(mode="batch", program=program, contenders=list(contenders), numpy=numpy, seed=seed)
        return self._start(request, Workspace(script=""))

    def start_recorded(self, mode: Literal["trace", "define"], program: str, options: Options) -> Job:
        """Start a job that traces a program recorded by another job, or tells what it computes.

        Parameters
        ----------
        program : str
            Text of :mod:`compiler.te.program`.

        Raises
        ------
        Unavailable
            If the sandbox cannot start a process.
        """
        request = Request(mode=mode, program=program, options=options)
        return self._start(request, Workspace(script="", options=options))

    def start_search(self, program: str, options: Options, settings: SearchSettings, log: bytes) -> Job:
        """Start a job that searches the schedules of a program recorded by another job.

        Parameters
        ----------
        program : str
            Text of :mod:`compiler.te.program`.
        log : bytes
            The records to go on from.

        Raises
        ------
        Unavailable
            If the sandbox cannot start a process.
        """
        seed = secrets.randbelow(MAX_SEED)
        request = Request(mode="search", program=program, options=options, search=settings, seed=seed)
        return self._start(request, Workspace(script="", options=options, files={LOG: log} if log else {}))

    def start_candidate(
        self, program: str, options: Options, choices: Sequence[Decision], kernel: SoughtKernel | None = None
    ) -> Job:
        """Start a job that shows a candidate of a search of a program recorded by another job.

        Parameters
        ----------
        program : str
            Text of :mod:`compiler.te.program`, or of a model.
        kernel : SoughtKernel, optional
            Which kernel of the model it is a candidate of.

        Raises
        ------
        Unavailable
            If the sandbox cannot start a process.
        """
        request = Request(mode="candidate", program=program, options=options, choices=list(choices), kernel=kernel)
        return self._start(request, Workspace(script="", options=options))

    def start_webgpu(self, program: str, options: Options, prefixes: bool) -> Job:
        """Start a job that prepares a program recorded by another job for the visitor's GPU.

        Parameters
        ----------
        program : str
            Text of :mod:`compiler.te.program`.
        prefixes : bool
            Whether to prepare every prefix of its schedule.

        Raises
        ------
        Unavailable
            If the sandbox cannot start a process.
        """
        seed = secrets.randbelow(MAX_SEED)
        request = Request(mode="webgpu", program=program, options=options, prefixes=prefixes, seed=seed)
        return self._start(request, Workspace(script="", options=options))

    def start_cuda(self, program: CudaProgram) -> Job:
        """Start a job that compiles CUDA C printed by another job.

        Raises
        ------
        Unavailable
            If the sandbox cannot start a process.
        """
        options = Options(arch=program.arch)
        request = Request(mode="cuda", program=program.source, options=options)
        return self._start(request, Workspace(script="", options=options))

    def start_disassembly(self, cubin: bytes) -> Job:
        """Start a job that executes nvdisasm, whose output is sent as one message.

        Parameters
        ----------
        cubin : bytes
            Machine code compiled by another job.

        Raises
        ------
        Unavailable
            If the sandbox cannot start a process.
        """
        return self._start(Request(mode="sass"), Workspace(script="", files={CUBIN: cubin}))

    def _start(self, request: Request, workspace: Workspace) -> Job:
        mode = request.mode
        JOBS.add(mode)
        stored = self._workspace_limits.check(workspace)
        stored_bytes = sum(file.size for file in stored.values())
        attached_bytes = sum(map(len, workspace.files.values()))
        budget = self._seconds[mode]
        patience = PATIENCE * budget if mode in SHORT else budget
        threads = workspace.options.threads
        base = Limits()
        has_model = request.kernel is not None or (request.search is not None and request.search.model)
        copies = MAX_COPIES_BYTES if has_model else min(COPIES * stored_bytes, MAX_COPIES_BYTES)
        limits = Limits(
            own_cpus=threads if mode in MEASURING else 0,
            roams=mode == "run",
            wall_seconds=STARVING * patience + WALL_MARGIN_SECONDS,
            cpu_seconds=(budget + WALL_MARGIN_SECONDS) * max(2, threads),
            threads=FREE_THREADS + 2 * threads,
            memory_bytes=base.memory_bytes + 2 * min(threads, available_cores()) * THREAD_BYTES + copies,
            files_bytes=base.files_bytes + attached_bytes + stored_bytes,
            message_bytes=LONG_MESSAGES.get(mode, base.message_bytes),
            program=str(find_tool("bin/nvdisasm")) if mode == "sass" else "",
            output_bytes=max(LONG_MESSAGES.get(mode, 0), base.output_bytes) + _in_parts(request.file_bytes),
        )
        encoded = msgspec.json.encode(
            msgspec.structs.replace(request, budget_seconds=budget, patience_seconds=patience)
        )
        try:
            return self._runner.start(encoded, {**workspace.files, **stored}, self._cores.assign(limits))
        except SandboxError as error:
            words = "the server is too busy to start a process for the script, or its sandbox does not start"
            raise Unavailable(words, retry_after=5) from error


def _in_parts(size: int) -> int:
    """Return the transfer size of a file, including the headers of parts and frames."""
    return size + -(-size // PART_BYTES) * (PART_HEAD + FRAME_BYTES)
