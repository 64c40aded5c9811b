"""Models in stages on several devices, which no build here can run: ``tvm.contrib.pipeline_executor``."""

from __future__ import annotations

from compiler.contrib.unavailable import UnavailableName

__all__ = [
    "PipelineConfig",
    "PipelineExecutorFactoryModule",
    "PipelineModule",
    "build",
    "pipeline_executor_build_enabled",
    "pipeline_executor_enabled",
]

_REASON = "models do not run in stages here; relay.build makes a model of each stage"

PipelineConfig = UnavailableName("tvm.contrib.pipeline_executor_build.PipelineConfig", _REASON)
PipelineExecutorFactoryModule = UnavailableName("tvm.contrib.pipeline_executor.PipelineExecutorFactoryModule", _REASON)
PipelineModule = UnavailableName("tvm.contrib.pipeline_executor.PipelineModule", _REASON)
build = UnavailableName("tvm.contrib.pipeline_executor_build.build", _REASON)


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
