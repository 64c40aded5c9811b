"""Starts the explorer: ``python -m app``."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from pathlib import Path

from waitress.server import create_server

from app import create_app
from app.config import PREFIX, Config, ConfigurationError

THREADS = 128
"""Concurrent requests; most of them wait for a script, or follow a ladder."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; omitted settings come from ``STRATA_*`` in the environment."""
    names = ", ".join(PREFIX + name.upper() for name in Config.__struct_fields__)
    out = argparse.ArgumentParser(
        prog="python -m app",
        description="Strata, a compiler explorer for tensor programs.",
        epilog=f"Every setting, and some more, can be given in the environment: {names}.",
    )
    out.add_argument("--host", help="address to listen on (127.0.0.1)")
    out.add_argument("--port", type=int, help="port to listen on (8000)")
    out.add_argument("--data", dest="data_dir", type=Path, help="directory for the permalinks (~/.local/share/strata)")
    out.add_argument("--database", dest="database_url", help="SQLAlchemy URL for the permalinks, e.g. postgresql://…")
    out.add_argument("--hosts", help="host names to answer to, with commas")
    out.add_argument("--proxies", type=int, help="trusted proxies in front of this server (0)")
    out.add_argument("--unsafe-local", action="store_const", const=True, help="run scripts without a sandbox")
    out.add_argument(
        "--unsafe-public", action="store_const", const=True, help="accept public connections without a sandbox"
    )
    return out


def main() -> None:
    """Read the command line and serve until interrupted."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    given = {name: value for name, value in vars(parser().parse_args()).items() if value is not None}
    try:
        config = Config.read(given)
        app = create_app(config)
        server = create_server(
            app,
            host=config.host,
            port=config.port,
            threads=THREADS,
            ident=None,
            max_request_body_size=config.body_bytes + 1,
        )
    except ConfigurationError as error:
        sys.exit(f"strata: {error}")
    except OSError as error:
        sys.exit(f"strata: cannot listen on {config.host}, port {config.port}: {error.strerror}; try another --port")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(f"Strata is at {address(config, server)} - Ctrl+C ends it", flush=True)
    try:
        server.run()
    finally:
        server.close()


def address(config: Config, server: object) -> str:
    """Return the address of the server for a browser."""
    host, port = getattr(server, "effective_listen", [(config.host, getattr(server, "effective_port", config.port))])[0]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


if __name__ == "__main__":
    main()
