"""A handler whose warming up starts a thread, as a zygote must not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator


def warm_up_further() -> Iterator[None]:
    """Start it in the second step."""
    yield
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


def run(request: bytes, emit: Callable[[bytes], None]) -> None:
    """Serve nothing."""
