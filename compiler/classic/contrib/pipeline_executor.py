"""``tvm.contrib.pipeline_executor``, which runs a model in stages on several devices and is not provided."""

from __future__ import annotations

from compiler.classic.contrib.unavailable import UnavailableName

__all__ = [
    "PipelineConfig", "PipelineExecutorFactoryModule", "PipelineModule", "build", "pipeline_executor_build_enabled",
    "pipeline_executor_enabled",
]  # fmt: skip

_REASON = "models are not pipelined over several devices; build each stage with relay.build and call them in turn"

PipelineConfig = UnavailableName("tvm.contrib.pipeline_executor_build.PipelineConfig", _REASON)
PipelineExecutorFactoryModule = UnavailableName("tvm.contrib.pipeline_executor.PipelineExecutorFactoryModule", _REASON)
PipelineModule = UnavailableName("tvm.contrib.pipeline_executor.PipelineModule", _REASON)
build = UnavailableName("tvm.contrib.pipeline_executor_build.build", _REASON)


def pipeline_executor_enabled() -> bool:
    """Return whether models can run as pipelines, so that tests can skip."""
    return False


def pipeline_executor_build_enabled() -> bool:
    """Return whether models can be built as pipelines, so that tests can skip."""
    return False
