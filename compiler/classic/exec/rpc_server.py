"""``tvm.exec.rpc_server``: a server of sessions."""

from __future__ import annotations

import contextlib

from compiler.classic.exec import address, listener, listening_options
from compiler.runtime.rpc.server import Server

__all__ = ["main"]


def main() -> None:
    """Serve until interrupted."""
    parser = listening_options("Runs what clients send, each session in a process of its own.", 9090)
    parser.add_argument("--key", default="", help="which clients have to name")
    parser.add_argument("--tracker", type=address, help="host:port of the tracker that lends the server")
    parser.add_argument("--custom-addr", default="", help="the host that the tracker's clients connect to")
    parser.add_argument("--load-library", default="", help="shared libraries to load first, with colons between")
    parser.add_argument("--timeout", type=float, default=0, help="seconds that a session may take at most")
    parser.add_argument("--no-fork", action="store_true", help="no effect")
    args = parser.parse_args()
    made, secret = listener(args, "rpc server")
    libraries = tuple(filter(None, args.load_library.split(":")))
    server = Server(made, args.key, secret, args.timeout, libraries, args.silent, args.tracker, args.custom_addr)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve()


if __name__ == "__main__":
    main()
