"""Builds files from a script in a process of its own, and passes them on.

They come in parts, each of which goes to a temporary file before the next is read: the server never holds a file.
Machine code of GPUs is made by NVIDIA's compilers, in a process of their own, of the CUDA C that the script's sends.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.artifacts import Options, Workspace
from app.built_files import BuiltFile, FileSubject, read_part
from app.errors import Unbuildable
from app.jobs.answer_reader import Incoming
from app.jobs.callers import waiting
from app.jobs.clients import Client
from app.jobs.cuda_compiler import CudaCompiler, KernelCache
from app.jobs.fair_queue import FairQueue
from app.jobs.launcher import Launcher
from app.machine_code import MAX_SOURCE, CudaProgram
from app.memory import Budget
from app.sandbox import Job
from app.spool import Spool

NOTHING = "the script built nothing"
BROKEN_OFF = "the file is incomplete: the process that built it ended early"
MEMORY_BYTES = 1 << 18
"""Size of a file that is kept in memory; larger ones lie on the disk."""


@dataclass(frozen=True)
class MadeFile:
    """A file; whoever gets it closes its content."""

    name: str
    """Without the suffix."""
    content: Spool


class Arriving:
    """The content of a file while its parts arrive: hostile, in any order and of any size.

    Parameters
    ----------
    budget : Budget
        Bytes of files that may be on their way.
    client : str
        Whom it is made for.
    largest : int
        Bytes that one file may have.
    """

    def __init__(self, budget: Budget, client: str, largest: int) -> None:
        self._budget = budget
        self._client = client
        self._largest = largest
        self.content = self._empty()

    def take(self, message: bytes) -> None:
        """Append a part; the first begins anew, as a job whose machine went away is started on another.

        Raises
        ------
        Unbuildable
            It is no part, or not the next one, or the file is too large.
        Busy
            There is no room for more.
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
        """Be another file.

        Raises
        ------
        Busy
            There is no room for it.
        """
        self._begin()
        self.content.write(content)

    def _begin(self) -> None:
        self.content.close()
        self.content = self._empty()

    def _empty(self) -> Spool:
        return Spool(self._budget.claim(0, self._client), MEMORY_BYTES)


class FileMaker:
    """Makes files of functions and models.

    Parameters
    ----------
    launcher : Launcher
    compiling : FairQueue
        Queue of compilations.
    incoming : Incoming
        What is done with the messages of children.
    budget : Budget
        Bytes of files that may be on their way to clients.
    """

    def __init__(self, launcher: Launcher, compiling: FairQueue, incoming: Incoming, budget: Budget) -> None:
        self._launcher = launcher
        self._compiling = compiling
        self._incoming = incoming
        self.budget = budget

    @property
    def largest(self) -> int:
        """Bytes that a file may have."""
        return self._launcher.file_bytes

    def make(self, workspace: Workspace, client: Client, subject: FileSubject) -> MadeFile:
        """Run a script, and let its process make a file.

        A script can make any file: whoever loads a library that a script made trusts it as they would the script.

        Parameters
        ----------
        workspace : Workspace
        client : Client
        subject : FileSubject

        Returns
        -------
        MadeFile

        Raises
        ------
        Unbuildable
            The script makes no such file, or one that is too large.
        Superseded, Busy, Unavailable, RequestError
            As :meth:`~app.jobs.recorded_programs.RecordedPrograms.work`.
        """
        self._launcher.check(workspace)
        arriving = Arriving(self.budget, client.address, self.largest)
        try:
            with self._compiling.turn(client.address, client.tab) as ticket:
                job = self._launcher.start_file(workspace, subject)
                ticket.when_asked(job.interrupt)
                name = self._receive(job, client, arriving)
                if subject.form == "cubin":
                    self._compile(arriving, client, workspace.options)
        except BaseException:
            arriving.content.close()
            raise
        return MadeFile(name, arriving.content)

    def _receive(self, job: Job, client: Client, arriving: Arriving) -> str:
        """Read what a job sends of its file to the end, and return the name of the file."""
        with self._incoming.read(job, client.address, take_part=arriving.take) as reader:
            said, problems = reader.collect(BuiltFile)
        if not said:
            raise Unbuildable(problems[0].message if problems else NOTHING)
        if said[-1].problem:
            raise Unbuildable(said[-1].problem)
        if said[-1].size != arriving.content.size:
            raise Unbuildable(BROKEN_OFF)
        return said[-1].name

    def _compile(self, arriving: Arriving, client: Client, options: Options) -> None:
        """Put what NVIDIA's compilers make of a file in CUDA C in its place."""
        size = arriving.content.size
        problem = self._launcher.no_cuda(options.arch)
        if problem or size > MAX_SOURCE:
            raise Unbuildable(problem or f"the kernels have {size:,} characters; at most {MAX_SOURCE:,} are compiled")
        source = arriving.content.rewind().read().decode(errors="replace")
        jobs: list[Job] = []
        compiler = CudaCompiler(
            self._launcher, self._incoming, client.address, Options(arch=options.arch), jobs.append, KernelCache()
        )
        compiler.begin([CudaProgram(source=source, arch=options.arch)])
        with waiting(jobs[0].cancel):
            [kernels] = compiler.finish()
        if kernels.code.problem:
            raise Unbuildable(kernels.code.problem)
        arriving.replace(kernels.code.cubin)
