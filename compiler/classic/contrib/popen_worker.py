"""The worker process of :mod:`compiler.classic.contrib.popen_pool`."""

from __future__ import annotations

import pickle
import sys
from multiprocessing.connection import Connection

import cloudpickle

from compiler.classic import alias


def main(descriptor: int) -> None:
    """Serve the process at the other end of a pipe."""
    pipe = Connection(descriptor)
    sys.path[:] = pipe.recv()
    alias.install()
    while True:
        try:
            call = pipe.recv_bytes()
        except EOFError:
            return
        pipe.send_bytes(_outcome(call))


def _outcome(call: bytes) -> bytes:
    """Return, as bytes, whether a call returned, and what; its exception where it did not."""
    try:
        function, args, kwargs = pickle.loads(call)
        outcome: bytes = cloudpickle.dumps((True, function(*args, **kwargs)))
    except Exception as error:  # goes to whoever made the call
        outcome = cloudpickle.dumps((False, error))
    return outcome


if __name__ == "__main__":
    main(int(sys.argv[1]))
