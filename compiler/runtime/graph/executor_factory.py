"""What all built models have in common."""

from __future__ import annotations

from compiler.runtime.modules.linking import Exporting


class ExecutorFactoryModule(Exporting):
    """A built model, whichever executor runs it; ``libmod_name`` is the name that it was built under."""

    libmod_name: str
