"""``tvm.exec.query_rpc_tracker``: shows which servers a tracker lends."""

from __future__ import annotations

import argparse
import os

from compiler.classic.rpc import connect_tracker

__all__ = ["main"]


def main() -> None:
    """Print the tracker's summary."""
    parser = argparse.ArgumentParser(description="Prints which servers a tracker lends, and who waits for them.")
    parser.add_argument("--host", default=os.environ.get("TVM_TRACKER_HOST", "127.0.0.1"))
    parser.add_argument("--port", type=int, default=int(os.environ.get("TVM_TRACKER_PORT", "9190")))
    args = parser.parse_args()
    print(f"Tracker address {args.host}:{args.port}\n")
    print(connect_tracker(args.host, args.port).text_summary())


if __name__ == "__main__":
    main()
