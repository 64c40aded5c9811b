"""The fork server for rendering processes, with all imports done and none of the server's data.

    python -m app.workers.fork_server DESCRIPTOR SETTINGS

The descriptor is that of a control socket.  A message that carries a descriptor forks a worker, which serves that
socket and sends its process id as the first frame; a message with a process id kills that worker.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import socket
import sys

import msgspec

from app import logs
from app.artifacts import Options
from app.panes.highlighting import LANGUAGES, lexer_of
from app.panes.selection import View
from app.workers.frames import MAX_RESULT, Channel, of_process_ids
from app.workers.process import serve
from app.workers.rendering import EMPTY, perform
from app.workers.tasks import RenderPage, RenderPanes
from compiler.runtime.llvm import binding, has_llvm

PAGE = resource.getpagesize()
MAX_MESSAGE = 32


class Settings(msgspec.Struct, frozen=True):
    """Resource limits of a worker."""

    memory_bytes: int
    """Address space in addition to that of the fork server."""
    seconds: float
    """CPU time per task."""


def main() -> None:
    """Fork workers until the server closes the control socket."""
    descriptor, settings = int(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=Settings)
    gc.disable()  # modules stay
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the server, which then closes the socket
    logs.configure()
    warm_up()
    control = socket.socket(fileno=descriptor)
    workers: set[int] = set()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, MAX_MESSAGE, 1)
        if not message:
            return
        _bury(workers)
        if descriptors:
            pid = os.fork()
            if not pid:
                control.close()
                _work(socket.socket(fileno=descriptors[0]), settings)
            workers.add(pid)
            os.close(descriptors[0])
        elif int(message) in workers:
            os.kill(int(message), signal.SIGKILL)


def warm_up() -> None:
    """Import modules, compile templates and fill caches before forking."""
    gc.freeze()
    if has_llvm():
        _ = binding.llvm_version_info  # loads LLVM's library, which no worker may read
    perform(RenderPage("", Options(), compiled=False), [])
    perform(RenderPanes(View(), Options()), [EMPTY])
    for language in LANGUAGES:
        lexer_of(language)
    gc.collect()
    gc.freeze()
    gc.enable()


def _bury(workers: set[int]) -> None:
    """Reap workers that have exited; their process ids may be reused from then on."""
    while workers:
        pid, _ = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        workers.discard(pid)


def _work(end: socket.socket, settings: Settings) -> None:
    """Run a worker in the forked process; does not return."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            imported = int(statm.read().split()[0]) * PAGE
        limit = imported + settings.memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        Channel(end, of_process_ids, MAX_RESULT).send(os.getpid())
        serve(end, settings.seconds)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
