"""What all built models have in common."""

from __future__ import annotations

__all__ = ["ExecutorFactoryModule"]


class ExecutorFactoryModule:
    """A built model, whichever executor runs it.

    Attributes
    ----------
    libmod_name : str
        The name that the model was built under.
    """

    libmod_name: str
