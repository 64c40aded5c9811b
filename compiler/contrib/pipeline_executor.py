"""Models in stages on several devices, which no build here can run: ``tvm.contrib.pipeline_executor``."""

from __future__ import annotations

__all__ = ["pipeline_executor_build_enabled", "pipeline_executor_enabled"]


def pipeline_executor_enabled() -> bool:
    """Return whether models can run in stages, which tests ask before they try.

    Returns
    -------
    bool
        False.
    """
    return False


def pipeline_executor_build_enabled() -> bool:
    """Return whether models can be built in stages, which tests ask before they try.

    Returns
    -------
    bool
        False.
    """
    return False
