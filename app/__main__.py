"""Starts the explorer: ``python -m app``, in a wheel ``python -m strata_explorer.app``."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import gc
import logging
import signal
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from app import __version__, logs
from app.config import PREFIX, Config, ConfigurationError
from app.runners import start_renderer, start_runner
from app.store.data_directory import check_temporary_directory, reason

if TYPE_CHECKING:
    from flask import Flask

    from app.sandbox import Runner


def parser(called: str) -> argparse.ArgumentParser:
    """Return the parser of a command line; omitted settings come from ``STRATA_*`` in the environment."""
    names = ", ".join(PREFIX + name.upper() for name in Config.__struct_fields__)
    out = argparse.ArgumentParser(
        prog=called,
        description="Strata, a compiler explorer for tensor programs.",
        epilog=f"Every setting, and some more, can be given in the environment: {names}.",
    )
    out.add_argument("--version", action="version", version=f"strata {__version__}")
    out.add_argument("--host", help="address to listen on (127.0.0.1)")
    out.add_argument("--port", type=int, help="port to listen on (8000)")
    out.add_argument("--data", dest="data_dir", type=Path, help="directory for the permalinks (~/.local/share/strata)")
    out.add_argument("--database", help="SQLAlchemy URL for the permalinks, e.g. postgresql://…")
    out.add_argument("--store", help="URL of a file store shared by several servers, e.g. s3://bucket/strata")
    out.add_argument("--scheduler", help="address of a Dask scheduler whose workers run scripts, e.g. tcp://…:8786")
    out.add_argument("--lessons", dest="lessons_dir", type=Path, help="directory with lessons of your own")
    out.add_argument("--hosts", help="allowed host names, separated by commas")
    out.add_argument("--proxies", type=int, help="trusted proxies in front of this server (0)")
    out.add_argument("--unsafe-local", action="store_const", const=True, help="run scripts without a sandbox")
    out.add_argument(
        "--unsafe-public", action="store_const", const=True, help="accept public connections without a sandbox"
    )
    return out


def make_app(config: Config) -> Flask:
    """Create the application, whose modules are imported while the processes of scripts import theirs.

    What is there then stays: it is not searched for garbage, now or later.
    """
    gc.disable()
    with ThreadPoolExecutor(1) as beside:
        starting = beside.submit(_start_runner, config)
        renderer = start_renderer(config)
        atexit.register(renderer.close)
        from app.server import create_app

        app = create_app(config, starting.result(), renderer)
    gc.freeze()
    gc.enable()
    return app


def _start_runner(config: Config) -> Runner:
    """Start the runner of scripts, which is closed at the end even if the main thread is interrupted meanwhile."""
    runner = start_runner(config)
    atexit.register(runner.close)
    return runner


def prepare(app: Flask) -> None:
    """Compile what the page shows first, and read the lessons, so that their first visitors do not wait for that."""
    from app import bytecode
    from app.artifacts import Workspace
    from app.errors import RequestError
    from app.jobs.clients import Client
    from app.services import services_of

    services = services_of(app)
    with contextlib.suppress(RequestError):  # whoever opens the page is told
        services.compiler.compile(Workspace(script=services.gallery.first.script), Client("127.0.0.1"))
    _ = services.lessons.lessons
    if (writing := bytecode.write_bytecode()) is not None:
        writing.wait()


def main(arguments: Sequence[str] | None = None, called: str = f"python -m {__package__}") -> None:
    """Read the command line and serve until interrupted."""
    given = {name: value for name, value in vars(parser(called).parse_args(arguments)).items() if value is not None}
    try:
        config = Config.read(given)
        logs.configure()
        for ends in (signal.SIGINT, signal.SIGTERM):  # until there is a server: what has been started is ended
            signal.signal(ends, lambda number, _: sys.exit(128 + number))
        print(f"Strata {__version__} is starting: it loads the compiler and the page", file=sys.stderr, flush=True)
        logging.getLogger("app.access").setLevel(logging.INFO if config.access_log else logging.WARNING)
        check_temporary_directory()
        app = make_app(config)
    except ConfigurationError as error:
        sys.exit(f"strata: {error}")
    except OSError as error:
        sys.exit(f"strata: it cannot start{f' because of {error.filename}' if error.filename else ''}: {reason(error)}")
    from app.services import services_of
    from app.serving.server import Server

    try:
        server = Server(app, config, services_of(app).memory)
    except OSError as error:
        listening = f"cannot listen on {config.host}, port {config.port}"
        sys.exit(f"strata: {listening}: {reason(error)}; try another --port")
    for ends in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ends, lambda *_: server.stop())
    print(f"Strata is at {server.address} - Ctrl+C ends it", flush=True)
    threading.Thread(target=prepare, args=(app,), daemon=True).start()
    services_of(app).start_sweeping()
    try:
        server.run()
    finally:
        services_of(app).close()


if __name__ == "__main__":
    main()
