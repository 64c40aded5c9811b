"""Selects the strictest sandbox available on this machine."""

from __future__ import annotations

import logging
import sys

from app.config import Config, ConfigurationError, Unprotected
from app.sandbox import NoSandbox, Runner, SandboxError, Shared, UnsafeLocal
from compiler.target.cuda_tools.tools import toolkits

log = logging.getLogger(__name__)
HANDLER = "app.recorder.handler:handle"


def start_local_runner(config: Config) -> Runner:
    """Start the runner of scripts on this machine.

    Raises
    ------
    Unprotected
        If this system has no sandbox.
    ConfigurationError
        If the sandbox does not start.
    """
    if config.unsafe_local:
        runner: Runner = UnsafeLocal(HANDLER)
    elif sys.platform == "linux":
        from app.sandbox import Sandbox

        log.info("starting the processes that scripts are forked from")
        try:
            runner = Sandbox(
                HANDLER,
                preload=["app.recorder.handler"],
                pool=config.pool,
                readable=[str(folder) for folder in toolkits()],
                shared=Shared(memory_bytes=config.scripts_memory),
            )
        except NoSandbox as error:
            raise Unprotected(f"{error}; --unsafe-local runs your own scripts without one") from error
        except SandboxError as error:
            raise ConfigurationError(str(error)) from error
    else:
        raise Unprotected("there is no sandbox on this system; --unsafe-local runs your own scripts without one")
    log.info("sandbox: %s", runner.tier)
    return runner
