"""Makes files of what a script builds: its own process makes them, and the server passes them on as they are.

Machine code of GPUs is made by NVIDIA's compilers, in a process of their own, of the CUDA C that the script's sends.
"""

from __future__ import annotations

from app.artifacts import Options, Workspace
from app.built_files import BuiltFile, FileSubject
from app.jobs.answer_reader import Incoming
from app.jobs.callers import waiting
from app.jobs.clients import Client
from app.jobs.cuda_compiler import CudaCompiler, KernelCache
from app.jobs.fair_queue import FairQueue
from app.jobs.launcher import Launcher
from app.machine_code import MAX_SOURCE, CudaProgram
from app.sandbox import Job

NOTHING = "the script built nothing"


class FileMaker:
    """Makes files of functions and models.

    Parameters
    ----------
    launcher : Launcher
    compiling : FairQueue
        Queue of compilations.
    incoming : Incoming
        What is done with the messages of children.
    """

    def __init__(self, launcher: Launcher, compiling: FairQueue, incoming: Incoming) -> None:
        self._launcher = launcher
        self._compiling = compiling
        self._incoming = incoming

    def make(self, workspace: Workspace, client: Client, subject: FileSubject) -> BuiltFile:
        """Run a script, and let its process make a file.

        A script can make any file: whoever loads a library that a script made trusts it as they would the script.

        Parameters
        ----------
        workspace : Workspace
        client : Client
        subject : FileSubject

        Returns
        -------
        BuiltFile

        Raises
        ------
        Superseded, Busy, Unavailable, RequestError
            As :meth:`~app.jobs.recorded_programs.RecordedPrograms.work`.
        """
        self._launcher.check(workspace)
        with self._compiling.turn(client.address, client.tab) as ticket:
            job = self._launcher.start_file(workspace, subject)
            ticket.when_asked(job.interrupt)
            with self._incoming.read(job, client.address) as reader:
                made, problems = reader.collect(BuiltFile)
            file = made[-1] if made else BuiltFile(problem=problems[0].message if problems else NOTHING)
            if subject.form == "cubin" and not file.problem:
                return self._machine_code(file, client, workspace.options)
        return file

    def _machine_code(self, file: BuiltFile, client: Client, options: Options) -> BuiltFile:
        """Return what NVIDIA's compilers make of a file in CUDA C."""
        source = file.content.decode(errors="replace")
        problem = self._launcher.no_cuda(options.arch)
        if problem or len(source) > MAX_SOURCE:
            return BuiltFile(
                problem=problem or f"the kernels have {len(source):,} characters; at most {MAX_SOURCE:,} are compiled"
            )
        jobs: list[Job] = []
        compiler = CudaCompiler(
            self._launcher, self._incoming, client.address, Options(arch=options.arch), jobs.append, KernelCache()
        )
        compiler.begin([CudaProgram(source=source, arch=options.arch)])
        with waiting(jobs[0].cancel):
            [kernels] = compiler.finish()
        return BuiltFile(name=file.name, content=kernels.code.cubin, problem=kernels.code.problem)
