"""``tvm.relay.backend.executor_factory``: the results of ``relay.build``."""

from __future__ import annotations

from compiler.driver.relay.aot.factory import AOTExecutorFactoryModule
from compiler.runtime.graph.executor_factory import ExecutorFactoryModule
from compiler.runtime.graph.factory import GraphExecutorFactory as GraphExecutorFactoryModule

__all__ = ["AOTExecutorFactoryModule", "ExecutorFactoryModule", "GraphExecutorFactoryModule"]
