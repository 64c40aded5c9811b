"""``tvm.exec``: commands, as in ``python -m compiler -m tvm.exec.rpc_server``.

The secret that both sides share is the environment variable ``STRATA_RPC_SECRET``.
"""

from __future__ import annotations

import argparse
import socket
import sys

from compiler.runtime.rpc.handshake import listen, ports_from, shared_secret, warning_of

__all__: list[str] = []


def address(text: str) -> tuple[str, int]:
    """Return the host and the port of ``host:port``."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise argparse.ArgumentTypeError(f"expected host:port, got {text!r}")
    return host, int(port)


def listening_options(what: str, port: int) -> argparse.ArgumentParser:
    """Return the options of what listens: where, and whether it is silent."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--host", default="127.0.0.1", help="only this machine can connect unless it says otherwise")
    parser.add_argument("--port", type=int, default=port, help="0 for any")
    parser.add_argument("--port-end", type=int, default=port // 100 * 100 + 99, help="takes the first free one")
    parser.add_argument("--silent", action="store_true")
    return parser


def listener(args: argparse.Namespace, what: str) -> tuple[socket.socket, bytes]:
    """Return the socket that the options describe and the secret, and say where it listens."""
    secret = shared_secret(None)
    made = listen(args.host, ports_from(args.port, args.port_end))
    if warning_of(args.host, secret):
        print(warning_of(args.host, secret), file=sys.stderr)
    if not args.silent:
        print(f"{what} listens on {args.host}:{made.getsockname()[1]}", file=sys.stderr, flush=True)
    return made, secret
