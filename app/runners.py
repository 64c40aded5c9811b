"""Starts what runs scripts, a sandbox of this machine or a cluster, and what renders answers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from app import __version__
from app.config import Config, ConfigurationError
from app.jobs.local_runner import start_local_runner
from app.sandbox import Runner

if TYPE_CHECKING:
    from app.workers.tasks import Renderer

__all__ = ["start_renderer", "start_runner"]


def start_runner(config: Config) -> Runner:
    """Start the runner of scripts, local or in a cluster; refuse public connections without a sandbox.

    Raises
    ------
    ConfigurationError
        If there is no sandbox that is strict enough, or the cluster cannot be used.
    """
    runner = start_cluster(config) if config.scheduler else start_local_runner(config)
    if not (config.loopback or config.unsafe_public or runner.tier.safe_for_public):
        runner.close()
        raise ConfigurationError(
            f"refusing to listen on {config.host}: anyone's scripts would run with {runner.tier}; "
            "listen on 127.0.0.1, or pass --unsafe-public"
        )
    return runner


def start_cluster(config: Config) -> Runner:
    """Start the runner of scripts on a cluster.

    Raises
    ------
    ConfigurationError
        If no file store is configured, Dask is not installed, or the scheduler cannot be used.
    """
    if not config.store:
        raise ConfigurationError(f"the machines of {config.scheduler} read files from a store; pass --store too")
    try:
        from app.cluster.runner import Cluster
    except ImportError as error:
        message = f"the scheduler {config.scheduler} cannot be used: {error}; pip install 'strata-explorer[cluster]'"
        raise ConfigurationError(message) from error
    return Cluster(config.scheduler, __version__)


def start_renderer(config: Config) -> Renderer:
    """Start the renderer: in separate processes, or without `fork`, for trusted scripts, in this one."""
    if not hasattr(os, "fork"):
        from app.workers.in_process import InProcess

        return InProcess()
    from app.memory import Memory
    from app.workers.pool import RenderWorkers, count_of_workers
    from compiler.runtime.machine import available_cores

    memory = Memory(config.memory).workers
    workers = RenderWorkers(count_of_workers(memory, available_cores()), memory)
    workers.start()
    return workers
