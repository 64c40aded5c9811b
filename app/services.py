"""The services behind the views, created once per application."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryDirectory

from flask import Flask, current_app
from limits import RateLimitItemPerDay, RateLimitItemPerHour, RateLimitItemPerMinute

from app import __version__
from app.artifacts import FORMAT, Source
from app.challenges import Problems
from app.challenges.contest import Contests
from app.config import Config
from app.gallery import Gallery, load_gallery
from app.jobs import answer_reader
from app.jobs.answer_reader import IncomingMessages
from app.jobs.answers import StoredAnswer
from app.jobs.cache import AnswerCache
from app.jobs.compile_service import Compiler
from app.jobs.cores import Cores
from app.jobs.definer import Definer
from app.jobs.fair_queue import FairQueue
from app.jobs.file_maker import FileMaker
from app.jobs.ladders import Ladders
from app.jobs.launcher import Launcher
from app.jobs.proposer import Proposer
from app.jobs.recorded_programs import RecordedPrograms
from app.jobs.shared_cache import SharedAnswerCache
from app.jobs.shared_ladders import SharedLadders
from app.lessons import Library
from app.lessons.classes import Classes
from app.live.sessions import LiveSessions
from app.machine_code import CompiledKernels
from app.memory import Budget, Memory
from app.sandbox import Outcome, RemoteRunner, Runner
from app.store.boards import Boards
from app.store.byte_semaphore import ByteSemaphore
from app.store.links import Links
from app.store.liveness import Liveness
from app.store.shared_files import SharedFiles
from app.store.shared_results import SharedResults
from app.store.uploads import Uploads
from app.store.workspace_limits import WorkspaceLimits
from app.web.rates import Rate
from app.web.recent import Recent
from app.workers.tasks import Assemble, Packed, Renderer
from compiler.runtime.machine import this_machine

EXTENSION = "strata"
MAX_MISSING = 120
"""Requests for nonexistent links per minute and client, whose address a classroom may share."""
MAX_ENTRIES = 12
"""Batches per hour and client that measure a board, each of which takes the machine some seconds."""
MAX_CHANGES = 1500
"""Changes and reports per minute and address in a live workspace, five times as many as one page sends."""
MAX_CHANGED_BYTES = 256 << 20
"""Their bytes per minute and address, in all workspaces together: about what one page sends at most."""
MAX_NAMES = 12
"""Names per minute that a student chooses."""
FILES_AT_ONCE = 4
"""Number of files of the maximum size that may be in transit concurrently; half as many per client."""
OPENING_SECONDS = 5.0
"""How long opening a link waits until enough bytes are free."""
MAX_CARDS = 100
"""Pictures of links that are kept, in about 30 KB each."""
MEASURING_QUANTUM_SECONDS = 30.0
"""Time slice of a measurement while others wait."""
MEASURING_PATIENCE_SECONDS = 90.0
"""How long a measurement may wait before compilations no longer hold it back."""


@dataclass(frozen=True, kw_only=True)
class Services:
    """The services used by views: jobs, storage, the gallery."""

    config: Config
    memory: Memory
    runner: Runner
    renderer: Renderer
    compiler: Compiler
    ladders: Ladders
    programs: RecordedPrograms
    definer: Definer
    proposer: Proposer
    file_maker: FileMaker
    links: Links
    cards: Recent[bytes]
    """Pictures of links, by their ids."""
    liveness: Liveness
    """Liveness check of the link database."""
    uploads: Uploads
    workspace_limits: WorkspaceLimits
    storing: Rate
    """Rate limit for bytes stored in links and uploads."""
    opening: Rate
    """Rate limit for bytes of opened links."""
    missing: Rate
    """Rate limit for requests of nonexistent links, against guessing of ids."""
    link_bytes: ByteSemaphore
    """Limits the total size of links that are being opened."""
    gallery: Gallery
    lessons: Library
    classes: Classes
    live: LiveSessions
    editing: Rate
    """Rate limit for changes in a live workspace."""
    editing_bytes: Rate
    """Rate limit for the bytes of changes in live workspaces, each of which may be a megabyte."""
    naming: Rate
    """Rate limit for names that a student of a class chooses, as a new name on the board is sent to the whole class."""
    problems: Problems
    boards: Boards
    contests: Contests
    entering: Rate
    """Rate limit for batches that measure a board."""
    compiling: FairQueue
    measuring: FairQueue
    stubs: TemporaryDirectory[str]
    """Where the editor's stubs of the public API are kept."""

    def start_sweeping(self) -> None:
        """Have classes and live workspaces deleted once they have ended."""
        self.classes.sweep_regularly()
        self.live.sweep_regularly()

    def close(self) -> None:
        """Leave one complete database, and a backup of it if links have changed."""
        self.classes.close()
        self.live.close()
        self.boards.close()
        self.links.close()
        self.stubs.cleanup()


def build_services(config: Config, runner: Runner, renderer: Renderer) -> Services:
    """Create the services of an application from a script runner and a renderer."""
    uploads = _uploads(config)
    workspace_limits = WorkspaceLimits(uploads, config.files_bytes, config.workspace_uploads_bytes)
    links = _links(config, workspace_limits)  # first: it says what is wrong with the database
    classes = Classes(config.links_database)
    queue = partial(
        FairQueue, waiting=config.waiting, waiting_per_client=config.waiting_per_client, seats=classes.seats.at
    )
    compiling = queue(config.compiling, name="compiling", overtime=config.compiling // 2)
    measuring = queue(
        1,
        name="measuring",
        typical_seconds=15.0,
        quantum_seconds=MEASURING_QUANTUM_SECONDS,
        first=compiling,
        long_patience=MEASURING_PATIENCE_SECONDS,
    )
    memory = Memory(config.memory)
    results = SharedResults(config.store, f"{FORMAT}-{__version__}") if config.store else None
    launcher = Launcher(runner, config, _cores(runner, compiling, measuring), workspace_limits)
    incoming = IncomingMessages(memory.incoming, _assembler(renderer))
    programs = RecordedPrograms(launcher, compiling, incoming)
    ladders = Ladders(
        launcher,
        measuring,
        incoming,
        memory.bodies,
        memory.events.total,
        SharedLadders(results) if results is not None else None,
    )
    boards = Boards(config.links_database)
    return Services(
        config=config,
        memory=memory,
        runner=runner,
        renderer=renderer,
        compiler=Compiler(launcher, _cache(memory, runner, results), compiling, measuring, incoming),
        ladders=ladders,
        programs=programs,
        file_maker=FileMaker(launcher, compiling, incoming, Budget("files", FILES_AT_ONCE * config.built_file_bytes)),
        definer=Definer(launcher, programs),
        proposer=Proposer(launcher, compiling, incoming),
        uploads=uploads,
        workspace_limits=workspace_limits,
        links=links,
        cards=Recent(MAX_CARDS),
        liveness=Liveness(links.check),
        storing=Rate(RateLimitItemPerDay(config.stored_bytes or sys.maxsize), "bytes"),
        opening=Rate(RateLimitItemPerMinute(config.opened_bytes or sys.maxsize), "bytes of links"),
        missing=Rate(RateLimitItemPerMinute(MAX_MISSING), "links that do not exist"),
        link_bytes=ByteSemaphore(memory.links, OPENING_SECONDS),
        gallery=load_gallery(),
        lessons=Library(config.lessons_dir),
        classes=classes,
        live=LiveSessions(config.links_database),
        editing=Rate(RateLimitItemPerMinute(MAX_CHANGES), "changes"),
        editing_bytes=Rate(RateLimitItemPerMinute(MAX_CHANGED_BYTES), "bytes of changes"),
        naming=Rate(RateLimitItemPerMinute(MAX_NAMES), "names"),
        problems=Problems(),
        boards=boards,
        contests=Contests(ladders, boards, partial(_processors, runner)),
        entering=Rate(RateLimitItemPerHour(MAX_ENTRIES), "entries"),
        compiling=compiling,
        measuring=measuring,
        stubs=TemporaryDirectory(prefix="strata-stubs-"),
    )


def _uploads(config: Config) -> Uploads:
    return Uploads(
        config.data_dir / "uploads",
        config.upload_bytes,
        config.uploads_bytes,
        config.reserve_bytes,
        SharedFiles(config.store) if config.store else None,
    )


def _links(config: Config, limits: WorkspaceLimits) -> Links:
    return Links(
        config.links_database,
        __version__,
        this_machine().processor,
        content_bytes=limits.content_bytes,
        backups=config.data_dir / "backups",
    )


def _assembler(renderer: Renderer) -> answer_reader.Assemble:
    """Return a function that assembles the answer of a job in a rendering process."""

    def assemble(
        messages: Sequence[bytes],
        outcome: Outcome,
        source: Source,
        client: str,
        kernels: Sequence[CompiledKernels] = (),
    ) -> StoredAnswer:
        task = Assemble(list(messages), outcome, source, list(kernels))
        return renderer.perform(task, Packed, client=client).answer

    return assemble


def _cache(memory: Memory, runner: Runner, results: SharedResults | None) -> AnswerCache:
    """Return the cache of answers, local or shared with other servers."""
    if results is None:
        return AnswerCache(memory.cache)
    return SharedAnswerCache(memory.cache, results, partial(_processors, runner))


def _processors(runner: Runner) -> list[str]:
    """Return the processors of the machines that run scripts."""
    if isinstance(runner, RemoteRunner):
        return [machine.cpu for machine in runner.machines]
    return [this_machine().processor]


def _cores(runner: Runner, compiling: FairQueue, measuring: FairQueue) -> Cores:
    """Return the assignment of CPUs to jobs; the queues get as many slots as the machines have."""
    if not isinstance(runner, RemoteRunner):
        return Cores(lambda: measuring.held > 0)

    def resize(compilations: int, measurements: int) -> None:
        compiling.resize(compilations, overtime=compilations // 2)
        measuring.resize(measurements)

    runner.follow(resize)
    return Cores(lambda: False, cpus=())


def install(app: Flask, services: Services) -> None:
    """Attach the services to an application."""
    app.extensions[EXTENSION] = services


def current_services() -> Services:
    """Return the services of the application that handles the current request."""
    return services_of(current_app)


def services_of(app: Flask) -> Services:
    """Return the services of an application."""
    services: Services = app.extensions[EXTENSION]
    return services
