"""``tvm.exec.rpc_tracker``: a tracker that lends servers."""

from __future__ import annotations

import contextlib

from compiler.classic.exec import listener, listening_options
from compiler.runtime.rpc.tracker import Tracker

__all__ = ["main"]


def main() -> None:
    """Serve until interrupted."""
    made, secret = listener(listening_options("Lends servers of sessions by key.", 9190).parse_args(), "rpc tracker")
    with contextlib.suppress(KeyboardInterrupt):
        Tracker(made, secret).serve()


if __name__ == "__main__":
    main()
