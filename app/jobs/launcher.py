"""Starts the sandboxed job of a workspace, with the limits that its mode and options call for."""

from __future__ import annotations

import msgspec

from app.artifacts import Mode, Request, Workspace
from app.config import Config
from app.errors import InvalidBody, TooLarge, Unavailable
from app.jobs.cores import Cores
from app.sandbox import Job, Limits, Runner, SandboxError
from app.store.uploads import Uploads
from compiler.runtime.threads import available_cores

WALL_MARGIN_SECONDS = 4.0
"""Time beyond a script's budget: for uninterruptible calls, and for the last snapshot."""
FREE_THREADS = 32
"""Threads that a script may start by itself, beside those of OpenMP and of NumPy's BLAS."""
THREAD_BYTES = 24 << 20
"""Address space of a thread, for its stack and buffers: it comes on top of what a script's arrays may take, though
only for as many threads as there are cores, since the script can use it for anything."""


class Launcher:
    """Starts jobs for workspaces.

    Parameters
    ----------
    runner : Runner
    config : Config
    cores : Cores
        Assigns CPUs to jobs.
    uploads : Uploads
        Stored files that workspaces refer to by hash.
    """

    def __init__(self, runner: Runner, config: Config, cores: Cores, uploads: Uploads) -> None:
        self._uploads = uploads
        self._runner = runner
        self._cores = cores
        self._seconds: dict[Mode, float] = {
            "compile": config.compile_seconds,
            "run": config.run_seconds,
            "ladder": config.ladder_seconds,
        }
        self._files_bytes = config.files_bytes

    def start(self, mode: Mode, workspace: Workspace) -> Job:
        """Start a job.

        Raises
        ------
        InvalidBody
            If the names of the attached files are not plain, distinct file names.
        TooLarge
            If they are too large.
        Unavailable
            If the sandbox cannot start a process.
        """
        size = sum(len(content) for content in workspace.files.values())
        if size > self._files_bytes:
            limit = f"at most {self._files_bytes:,} bytes"
            raise TooLarge(f"the attached files have {size:,} bytes together", field="$.files", expected=limit)
        uploads = {name: self._uploads.read(name, file) for name, file in workspace.uploads.items()}
        budget = self._seconds[mode]
        request = Request(mode=mode, script=workspace.script, options=workspace.options, budget_seconds=budget)
        threads = workspace.options.threads
        # A model is held several times: as a file, as it was read, as arrays, and as it was compiled.
        held = 8 * sum(map(len, uploads.values()))
        limits = Limits(
            cpus=self._cores.choose(mode, threads),
            wall_seconds=budget + WALL_MARGIN_SECONDS,
            cpu_seconds=(budget + WALL_MARGIN_SECONDS) * max(2, threads),
            threads=FREE_THREADS + 2 * threads,
            memory_bytes=Limits().memory_bytes + 2 * min(threads, available_cores()) * THREAD_BYTES + held,
            files_bytes=Limits().files_bytes + sum(map(len, uploads.values())),
        )
        try:
            return self._runner.start(msgspec.json.encode(request), {**workspace.files, **uploads}, limits)
        except ValueError as error:
            raise InvalidBody(str(error), field="$.files", expected="plain file names") from error
        except SandboxError as error:
            raise Unavailable("scripts cannot be run now: the sandbox does not start", retry_after=10) from error
