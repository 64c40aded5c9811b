"""What the views work with, made once for each application."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from flask import Flask, current_app
from limits import RateLimitItemPerDay

import compiler
from app.cache import AnswerCache
from app.compile_service import Compiler, Starter
from app.config import Config
from app.cores import Cores
from app.gallery import Gallery, load_gallery
from app.ladders import Ladders
from app.queue import Turns
from app.rates import Rate
from app.recorder.environment import CPU
from app.sandbox import Runner
from app.uploads import Uploads
from app.workspaces import Links

EXTENSION = "strata"


@dataclass(frozen=True, kw_only=True)
class Services:
    """The rooms behind the pages."""

    config: Config
    runner: Runner
    compiler: Compiler
    ladders: Ladders
    links: Links
    uploads: Uploads
    storing: Rate
    """Bytes that go into links and uploads."""
    gallery: Gallery
    compiling: Turns
    measuring: Turns


def build_services(config: Config, runner: Runner) -> Services:
    """Build the rooms behind the pages over a runner of scripts."""
    queue = {"waiting": config.waiting, "waiting_per_client": config.waiting_per_client}
    compiling = Turns(config.compiling, **queue)
    measuring = Turns(1, **queue, typical_seconds=15.0)
    uploads = Uploads(config.data_dir / "uploads", config.upload_bytes)
    starter = Starter(runner, config, Cores(measuring), uploads)
    return Services(
        config=config,
        runner=runner,
        compiler=Compiler(starter, AnswerCache(config.cache_bytes), compiling, measuring),
        ladders=Ladders(starter, measuring),
        uploads=uploads,
        links=Links(config.database, compiler.__version__, CPU),
        storing=Rate(RateLimitItemPerDay(config.stored_bytes or sys.maxsize), "bytes"),
        gallery=load_gallery(),
        compiling=compiling,
        measuring=measuring,
    )


def install(app: Flask, services: Services) -> None:
    """Make the services reachable from views."""
    app.extensions[EXTENSION] = services


def present_services() -> Services:
    """Return the services of the application that answers the present request."""
    services: Services = current_app.extensions[EXTENSION]
    return services
