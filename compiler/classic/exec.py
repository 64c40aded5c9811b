"""``tvm.exec``: commands, as in ``python -m compiler -m tvm.exec.rpc_server``.

The secret that both sides share is the environment variable ``STRATA_RPC_SECRET``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from compiler.classic.names.public import COMMANDS
from compiler.classic.rpc import connect_tracker
from compiler.classic.rpc.proxy_server import Proxy
from compiler.ir.extension import public_module
from compiler.runtime.rpc.handshake import MAX_TEXT, MAX_TIMEOUT, listen, ports_from, shared_secret
from compiler.runtime.rpc.server import Server
from compiler.runtime.rpc.tracker import Tracker

__all__ = ["join", "query", "serve", "track"]

T = TypeVar("T", int, float)


def track() -> None:
    """Lend servers of sessions by key, until interrupted."""
    made, secret = _listener(_listening("Lends servers of sessions by key.", 9190).parse_args(), "rpc tracker")
    with contextlib.suppress(KeyboardInterrupt):
        Tracker(made, secret).serve()


def join() -> None:
    """Join clients and servers that both connect here, until interrupted."""
    made, secret = _listener(_listening("Joins clients with servers of their key.", 9090).parse_args(), "rpc proxy")
    with contextlib.suppress(KeyboardInterrupt):
        Proxy(made, secret).serve()


def serve() -> None:
    """Run what clients send, until interrupted."""
    parser = _listening("Runs what clients send, each session in a process of its own.", 9090)
    parser.add_argument("--key", type=_text, default="", help="which clients have to name")
    parser.add_argument("--tracker", type=_address, help="host:port of the tracker that lends the server")
    parser.add_argument("--custom-addr", type=_text, default="", help="the host that the tracker's clients connect to")
    parser.add_argument("--load-library", default="", help="shared libraries to load first, with colons between")
    parser.add_argument("--timeout", type=_SECONDS, default=0, help="seconds that a session may take at most")
    parser.add_argument("--through-proxy", action="store_true", help="connect to a proxy at that host and port")
    parser.add_argument("--no-fork", action="store_true", help="no effect")
    args = parser.parse_args()
    is_joined = args.through_proxy
    made, secret = ((args.host, args.port), shared_secret(None)) if is_joined else _listener(args, "rpc server")
    libraries = tuple(filter(None, args.load_library.split(":")))
    server = Server(made, args.key, secret, args.timeout, libraries, args.silent, args.tracker, args.custom_addr)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve()


def query() -> None:
    """Print which servers a tracker lends, and who waits for them."""
    parser = argparse.ArgumentParser(description="Prints which servers a tracker lends, and who waits for them.")
    parser.add_argument("--host", default=os.environ.get("TVM_TRACKER_HOST", "127.0.0.1"))
    parser.add_argument("--port", type=_PORT, default=os.environ.get("TVM_TRACKER_PORT", "9190"))
    args = parser.parse_args()
    print(f"Tracker address {args.host}:{args.port}\n\n{connect_tracker(args.host, args.port).text_summary()}")


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host:
        raise argparse.ArgumentTypeError(f"expected host:port, got {text!r}")
    return host, _PORT(port)


def _text(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise argparse.ArgumentTypeError(f"expected at most {MAX_TEXT} characters, got {len(text)}")
    return text


def _up_to(kind: Callable[[str], T], most: float) -> Callable[[str], T]:
    """Return a type of options: numbers from 0 to a limit."""

    def read(text: str) -> T:
        with contextlib.suppress(ValueError):
            if 0 <= float(value := kind(text)) <= most:
                return value
        raise argparse.ArgumentTypeError(f"expected a number from 0 to {most:g}, got {text!r}")

    return read


_PORT, _SECONDS = _up_to(int, 65535), _up_to(float, MAX_TIMEOUT)


def _listening(what: str, port: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--host", default="127.0.0.1", help="only this machine can connect unless it says otherwise")
    parser.add_argument("--port", type=_PORT, default=port, help="0 for any")
    parser.add_argument("--port-end", type=_PORT, default=port // 100 * 100 + 99, help="takes the first free one")
    parser.add_argument("--silent", action="store_true")
    return parser


def _listener(args: argparse.Namespace, what: str) -> tuple[socket.socket, bytes]:
    """Return the socket that the options describe and the secret, and say where it listens."""
    secret = shared_secret(None)
    made = listen(args.host, ports_from(args.port, args.port_end), secret)
    if not args.silent:
        print(f"{what} listens on {args.host}:{made.getsockname()[1]}", file=sys.stderr, flush=True)
    return made, secret


if __name__ == "__main__":  # as the command that runpy names
    dict(zip(COMMANDS, (query, join, serve, track), strict=True))[sys.argv[0].rpartition(".")[2]]()
elif not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.exec", __all__)
