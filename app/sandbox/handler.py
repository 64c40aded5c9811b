"""The function that serves a request, and what its end means, in whatever process it runs."""

from __future__ import annotations

import importlib
import os
import traceback
from collections.abc import Callable

from app.sandbox import wire

Handler = Callable[[bytes, Callable[[bytes], None]], None]
"""Takes a request and a function that sends a message."""

EXIT_RAISED = 70
EXIT_SETUP_FAILED = 71
EXIT_OUT_OF_MEMORY = 72

_TRACE_BYTES = 4000


def load(name: str) -> Handler:
    """Import the handler called ``module:function``, and let its module's ``warm_up``, if there is one, run once."""
    module_name, _, function = name.partition(":")
    module = importlib.import_module(module_name)
    handler: Handler = getattr(module, function)
    warm_up = getattr(module, "warm_up", None)
    if warm_up is not None:
        warm_up()
    return handler


def serve(handler: Handler, request: bytes, output: int) -> int:
    """Run the handler, its messages going out as frames; the exit code of the process it runs in."""
    try:
        handler(request, lambda message: wire.write_all(output, wire.frame(message)))
    except MemoryError:
        return EXIT_OUT_OF_MEMORY
    except SystemExit as request_to_exit:
        code = request_to_exit.code or 0
        return code & 0xFF if isinstance(code, int) else EXIT_RAISED
    except BaseException:
        os.write(2, traceback.format_exc()[-_TRACE_BYTES:].encode(errors="replace"))
        return EXIT_RAISED
    return 0
