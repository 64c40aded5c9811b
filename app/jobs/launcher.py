"""Starts the sandboxed job of a workspace, with the limits of its mode and options."""

from __future__ import annotations

import secrets

import msgspec

from app.artifacts import MEASURING, Mode, Workspace
from app.built_files import PART_BYTES, PART_HEAD
from app.config import Config
from app.counts import JOBS
from app.errors import Unavailable
from app.jobs.cores import Cores
from app.protocol import STARVING, Request
from app.sandbox import Job, Limits, Runner, SandboxError
from app.sandbox.wire import FRAME_BYTES
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
SEEDED: tuple[Mode, ...] = ("measure", "batch", "search", "webgpu")
"""Modes that compute with inputs which nobody knows beforehand."""
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
        return self.start_request(request, workspace)

    def start_request(self, request: Request, workspace: Workspace | None = None) -> Job:
        """Start a job with what it is asked for, but for its time limits and the seed of its inputs.

        Parameters
        ----------
        workspace : Workspace, optional
            Whose script runs; left out for jobs on what another job recorded.

        Raises
        ------
        InvalidBody, TooLarge, NotFound, Damaged, Unavailable
            As in :meth:`start`.
        """
        mode, workspace = request.mode, workspace or Workspace(script="", options=request.options)
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
        seed = secrets.randbelow(MAX_SEED) if mode in SEEDED else request.seed
        limited = msgspec.structs.replace(request, seed=seed, budget_seconds=budget, patience_seconds=patience)
        encoded = msgspec.json.encode(limited)
        try:
            return self._runner.start(encoded, {**workspace.files, **stored}, self._cores.assign(limits))
        except SandboxError as error:
            words = "the server is too busy to start a process for the script, or its sandbox does not start"
            raise Unavailable(words, retry_after=5) from error


def _in_parts(size: int) -> int:
    """Return the transfer size of a file, including the headers of parts and frames."""
    return size + -(-size // PART_BYTES) * (PART_HEAD + FRAME_BYTES)
