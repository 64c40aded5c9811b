"""Builds files from a script in a process of its own, and passes them on.

Files arrive in parts, which are spooled to a temporary file, so that the server never holds a whole file in memory.
GPU machine code is compiled by NVIDIA's compilers in a separate process, from CUDA C of the script's process.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.artifacts import Options, Workspace
from app.built_files import BuiltFile, FileSubject, read_part
from app.errors import Unbuildable
from app.jobs.answer_reader import IncomingMessages
from app.jobs.callers import waiting
from app.jobs.clients import Client
from app.jobs.cuda_compiler import CudaCompiler, KernelCache
from app.jobs.fair_queue import FairQueue
from app.jobs.launcher import Launcher
from app.machine_code import MAX_SOURCE, CudaProgram
from app.memory import Budget
from app.protocol import Request
from app.sandbox import Job
from app.spool import Spool

NOTHING = "the script built nothing"
BROKEN_OFF = "the file is incomplete: the process that built it ended early"
MEMORY_BYTES = 1 << 18
"""The maximum size of files in memory; larger ones are spooled to disk."""


@dataclass(frozen=True)
class ReceivedFile:
    """A file, whose content the receiver closes."""

    name: str
    """The name without the suffix."""
    content: Spool


class IncomingFile:
    """A file whose parts are arriving; they are untrusted, and may have any order and size.

    Parameters
    ----------
    budget : Budget
        The budget of files in transit.
    client : str
        The client for which it is made.
    largest : int
        The maximum size of a file.
    """

    def __init__(self, budget: Budget, client: str, largest: int) -> None:
        self._budget = budget
        self._client = client
        self._largest = largest
        self.content = self._empty()

    def take(self, message: bytes) -> None:
        """Append a part; a first part starts over, as jobs may be restarted on another machine.

        Raises
        ------
        Unbuildable
            If the part is malformed or out of order, or the file is too large.
        Busy
            If the budget is exhausted.
        """
        try:
            place, part = read_part(message)
        except ValueError as error:
            raise Unbuildable(str(error)) from error
        if place == 0:
            self._begin()
        if place != self.content.size:
            raise Unbuildable(f"the part at byte {place:,} of the file came after {self.content.size:,} bytes")
        if place + len(part) > self._largest:
            raise Unbuildable(f"the file is larger than the {self._largest:,} bytes that can be downloaded")
        self.content.write(part)

    def replace(self, content: bytes) -> None:
        """Replace the content.

        Raises
        ------
        Busy
            If the budget is exhausted.
        """
        self._begin()
        self.content.write(content)

    def _begin(self) -> None:
        self.content.close()
        self.content = self._empty()

    def _empty(self) -> Spool:
        return Spool(self._budget.claim(0, self._client), MEMORY_BYTES)


class FileMaker:
    """Builds files from functions and models.

    Parameters
    ----------
    compiling : FairQueue
        The queue of compilations.
    incoming : IncomingMessages
        Processes the messages of children.
    budget : Budget
        The budget of files in transit to clients.
    """

    def __init__(self, launcher: Launcher, compiling: FairQueue, incoming: IncomingMessages, budget: Budget) -> None:
        self._launcher = launcher
        self._compiling = compiling
        self._incoming = incoming
        self.budget = budget

    @property
    def largest(self) -> int:
        """The maximum size of a file in bytes."""
        return self._launcher.file_bytes

    def make(self, workspace: Workspace, client: Client, subject: FileSubject) -> ReceivedFile:
        """Run a script, and build a file in its process.

        A script can produce any file: loading a library from a script means trusting the script.

        Raises
        ------
        Unbuildable
            If the script does not produce such a file, or it is too large.
        Superseded, Busy, Unavailable, RequestError
            As in :meth:`~app.jobs.recorded_programs.RecordedPrograms.work`.
        """
        self._launcher.check(workspace)
        file = IncomingFile(self.budget, client.address, self.largest)
        try:
            with self._compiling.turn(client.address, client.tab, long=workspace.is_long) as ticket:
                request = Request(
                    mode="file",
                    script=workspace.script,
                    file=subject,
                    file_bytes=self.largest,
                    options=workspace.options,
                )
                job = self._launcher.start_request(request, workspace)
                ticket.when_asked(job.interrupt)
                name = self._receive(job, client, file)
                if subject.form == "cubin":
                    self._compile(file, client, workspace.options)
        except BaseException:
            file.content.close()
            raise
        return ReceivedFile(name, file.content)

    def _receive(self, job: Job, client: Client, file: IncomingFile) -> str:
        """Receive the file of a job completely, and return its name."""
        with self._incoming.read(job, client.address, take_part=file.take) as reader:
            descriptions, problems = reader.collect(BuiltFile)
        if not descriptions:
            raise Unbuildable(problems[0].message if problems else NOTHING)
        if descriptions[-1].problem:
            raise Unbuildable(descriptions[-1].problem)
        if descriptions[-1].size != file.content.size:
            raise Unbuildable(BROKEN_OFF)
        return descriptions[-1].name

    def _compile(self, file: IncomingFile, client: Client, options: Options) -> None:
        """Replace a CUDA C file by its compiled form."""
        size = file.content.size
        problem = self._launcher.no_cuda(options.arch)
        if problem or size > MAX_SOURCE:
            raise Unbuildable(problem or f"the kernels have {size:,} characters; at most {MAX_SOURCE:,} are compiled")
        source = file.content.rewind().read().decode(errors="replace")
        jobs: list[Job] = []
        compiler = CudaCompiler(
            self._launcher, self._incoming, client.address, Options(arch=options.arch), jobs.append, KernelCache()
        )
        compiler.begin([CudaProgram(source=source, arch=options.arch)])
        with waiting(jobs[0].cancel):
            [kernels] = compiler.finish()
        if kernels.code.problem:
            raise Unbuildable(kernels.code.problem)
        file.replace(kernels.code.cubin)
